package io.jccl.init;

import io.jccl.CommunicatorConfig;
import io.jccl.bootstrap.BootstrapOptions;
import io.jccl.config.AlgorithmSettings;
import io.jccl.config.IbSettings;
import io.jccl.config.LaunchSettings;
import io.jccl.config.MemorySettings;
import io.jccl.config.NetworkSettings;
import io.jccl.config.Setting;
import io.jccl.config.Settings;
import io.jccl.config.TimeSettings;
import io.jccl.config.TopologySettings;
import io.jccl.config.TransportSettings;
import io.jccl.nativelib.NativeLoader;
import io.jccl.search.GraphFile;
import io.jccl.tuning.HostCosts;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What the settings mean for initialising a communicator. */
final class InitSettings {

    private static final Logger LOG = LoggerFactory.getLogger(InitSettings.class);

    /** Ranks that differ in one of these would plan or count differently. */
    private static final List<Setting<?>> SHARED = List.of(
            AlgorithmSettings.ALGO,
            AlgorithmSettings.PROTO,
            AlgorithmSettings.MIN_NCHANNELS,
            AlgorithmSettings.MAX_NCHANNELS,
            AlgorithmSettings.CROSS_NIC,
            AlgorithmSettings.NTHREADS,
            AlgorithmSettings.CHUNK_BYTES,
            AlgorithmSettings.LL128,
            AlgorithmSettings.THREAD_THRESHOLDS,
            AlgorithmSettings.COLLNET_ENABLE,
            AlgorithmSettings.COLLNET_NODE_THRESHOLD,
            MemorySettings.BUFFSIZE,
            MemorySettings.LL_BUFFSIZE,
            MemorySettings.LL128_BUFFSIZE,
            MemorySettings.GPU_HOST_STAGING_BUFFSIZE,
            TransportSettings.TRANSPORT,
            TransportSettings.P2P_DISABLE,
            TransportSettings.P2P_LEVEL,
            TransportSettings.GPU_HOST_STAGING,
            NetworkSettings.NET_GDR_LEVEL,
            NetworkSettings.NET_GDR_READ,
            NetworkSettings.NET_GDR_C2C,
            TopologySettings.NVB_DISABLE,
            TopologySettings.PXN_DISABLE,
            TopologySettings.PXN_C2C,
            TransportSettings.SHM_DISABLE,
            NetworkSettings.SOCKET_NTHREADS,
            NetworkSettings.NSOCKS_PERTHREAD,
            IbSettings.IB_DISABLE,
            IbSettings.IB_QPS_PER_CONNECTION,
            IbSettings.IB_SPLIT_DATA_ON_QPS);

    private static final int MAX_SOURCE = 200;
    private static final int MAX_PORT = 65_535;

    private InitSettings() {}

    /** The settings of a communicator; what looks like a mistake is logged. Binds the process, where they say so. */
    static Settings load(CommunicatorConfig config) {
        Settings settings = Settings.load(config);
        for (String warning : settings.warnings()) {
            LOG.warn(warning);
        }
        NetworkSettings.streamsPerConnection(settings);
        ProcessAffinity.apply(settings);
        return settings;
    }

    static BootstrapOptions bootstrap(Settings settings) {
        return BootstrapOptions.defaults("build " + NativeLoader.buildId())
                .withInitTimeout(settings.get(TimeSettings.INIT_TIMEOUT))
                .withHeartbeat(
                        settings.get(TimeSettings.HEARTBEAT_INTERVAL), settings.get(TimeSettings.HEARTBEAT_TIMEOUT))
                .withInterfaces(
                        settings.get(NetworkSettings.SOCKET_IFNAME), settings.get(NetworkSettings.SOCKET_FAMILY))
                .withMemberPort(memberPort(settings));
    }

    private static int memberPort(Settings settings) {
        int base = settings.get(LaunchSettings.MEMBER_PORT);
        int port =
                base == 0 ? 0 : base + settings.get(LaunchSettings.LOCAL_RANK).orElse(0);
        if (port > MAX_PORT) {
            throw new IllegalArgumentException("JCCL_MEMBER_PORT=" + base + " JCCL_LOCAL_RANK=" + (port - base)
                    + ": expected a sum of at most " + MAX_PORT);
        }
        return port;
    }

    /**
     * What must be the same on all ranks, as texts by the names of the settings. Of files it is the content that counts, not
     * where each rank has them.
     */
    static Map<String, String> shared(Settings settings, HostCosts costs, Optional<GraphFile> graphs) {
        Map<String, String> texts = new TreeMap<>();
        for (Setting<?> setting : SHARED) {
            texts.put(setting.name(), settings.text(setting));
        }
        String source = costs.source().substring(0, Math.min(costs.source().length(), MAX_SOURCE));
        texts.put(AlgorithmSettings.TUNING_PROFILE.name(), "table " + costs.fingerprint() + ": " + source);
        texts.put(
                TopologySettings.GRAPH_FILE.name(),
                graphs.map(file -> "content " + file.digest()).orElse(""));
        return texts;
    }
}
