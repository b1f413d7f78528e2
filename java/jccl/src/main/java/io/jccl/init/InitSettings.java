package io.jccl.init;

import io.jccl.CommunicatorConfig;
import io.jccl.bootstrap.BootstrapOptions;
import io.jccl.config.Registry;
import io.jccl.config.Setting;
import io.jccl.config.Settings;
import io.jccl.nativelib.NativeLoader;
import io.jccl.tuning.HostCosts;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What the settings mean for forming a communicator. */
final class InitSettings {

    private static final Logger LOG = LoggerFactory.getLogger(InitSettings.class);

    /** Ranks that differ in one of these would plan or count differently. */
    private static final List<Setting<?>> SHARED = List.of(
            Registry.ALGO,
            Registry.PROTO,
            Registry.MIN_NCHANNELS,
            Registry.MAX_NCHANNELS,
            Registry.CROSS_NIC,
            Registry.NTHREADS,
            Registry.CHUNK_BYTES,
            Registry.LL128,
            Registry.THREAD_THRESHOLDS,
            Registry.BUFFSIZE,
            Registry.LL_BUFFSIZE,
            Registry.LL128_BUFFSIZE,
            Registry.TRANSPORT,
            Registry.P2P_DISABLE,
            Registry.P2P_LEVEL,
            Registry.NET_GDR_LEVEL,
            Registry.NET_GDR_READ,
            Registry.NET_GDR_C2C,
            Registry.NVB_DISABLE,
            Registry.PXN_DISABLE,
            Registry.PXN_C2C,
            Registry.SHM_DISABLE,
            Registry.NSOCKS_PERTHREAD,
            Registry.IB_DISABLE,
            Registry.IB_QPS_PER_CONNECTION,
            Registry.IB_SPLIT_DATA_ON_QPS);

    private static final int MAX_SOURCE = 200;

    private InitSettings() {}

    /** The settings of a communicator; what looks like a slip is logged. */
    static Settings load(CommunicatorConfig config) {
        Settings settings = Settings.load(config);
        settings.warnings().forEach(LOG::warn);
        return settings;
    }

    static BootstrapOptions bootstrap(Settings settings) {
        return BootstrapOptions.defaults("build " + NativeLoader.buildId())
                .withInitTimeout(settings.get(Registry.INIT_TIMEOUT))
                .withHeartbeat(settings.get(Registry.HEARTBEAT_INTERVAL), settings.get(Registry.HEARTBEAT_TIMEOUT))
                .withInterfaces(settings.get(Registry.SOCKET_IFNAME), settings.get(Registry.SOCKET_FAMILY));
    }

    /**
     * What must be the same on all ranks, as texts by the names of the settings. Of the cost model's constants it is the
     * content that counts, not where each rank has the file.
     */
    static Map<String, String> shared(Settings settings, HostCosts costs) {
        Map<String, String> texts = new TreeMap<>();
        for (Setting<?> setting : SHARED) {
            texts.put(setting.name(), settings.text(setting));
        }
        String source = costs.source().substring(0, Math.min(costs.source().length(), MAX_SOURCE));
        texts.put(Registry.HOST_COSTS.name(), "table " + costs.fingerprint() + ": " + source);
        return texts;
    }
}
