package io.jccl.init;

import io.jccl.BootstrapException;
import io.jccl.CommunicatorConfig;
import io.jccl.Encryption;
import io.jccl.UniqueId;
import io.jccl.config.AlgorithmSettings;
import io.jccl.config.IbSettings;
import io.jccl.config.LaunchSettings;
import io.jccl.config.LoggedOnce;
import io.jccl.config.MemorySettings;
import io.jccl.config.NetworkSettings;
import io.jccl.config.Setting;
import io.jccl.config.Settings;
import io.jccl.config.TimeSettings;
import io.jccl.config.TopologySettings;
import io.jccl.config.TransportSettings;
import io.jccl.internal.Causes;
import io.jccl.internal.Secrets;
import io.jccl.launch.Launch;
import io.jccl.nativelib.NativeLoader;
import io.jccl.parts.InitContext;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.search.GraphFile;
import io.jccl.tuning.HostCosts;
import io.jccl.wire.EncryptedHandshake;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/** Loads the settings of a communicator, and compares those that must be the same on all ranks. */
final class InitSettings {

    /** Settings that must be the same on all ranks, because they change plans, choices or the layout of memory. */
    private static final List<Setting<?>> SHARED = List.of(
            AlgorithmSettings.ALGO,
            AlgorithmSettings.PROTO,
            AlgorithmSettings.MIN_NCHANNELS,
            AlgorithmSettings.MAX_NCHANNELS,
            AlgorithmSettings.CROSS_NIC,
            AlgorithmSettings.NTHREADS,
            AlgorithmSettings.CHUNK_BYTES,
            AlgorithmSettings.LL128,
            AlgorithmSettings.WIRE_FORMAT,
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
            NetworkSettings.ENCRYPTION,
            NetworkSettings.SOCKET_NTHREADS,
            NetworkSettings.NSOCKS_PERTHREAD,
            IbSettings.IB_DISABLE,
            IbSettings.IB_QPS_PER_CONNECTION,
            IbSettings.IB_SPLIT_DATA_ON_QPS);

    private static final String NAME = "CommunicatorConfig.name";
    private static final int MAX_SOURCE = 200;
    private static final int MAX_PORT = 65_535;

    private InitSettings() {}

    /** Loads the settings of a communicator. Logs likely mistakes, and binds the process if a setting asks for it. */
    static Settings load(CommunicatorConfig config) {
        Settings settings = Settings.load(config);
        for (String warning : settings.warnings()) {
            LoggedOnce.warn(InitSettings.class, warning);
        }
        NetworkSettings.checkStreams(settings);
        requireEncryption(settings);
        ProcessAffinity.apply(settings);
        return settings;
    }

    private static void requireEncryption(Settings settings) {
        Encryption encryption = settings.get(NetworkSettings.ENCRYPTION);
        if (encryption.isUsed()) {
            try {
                EncryptedHandshake.requireAlgorithms();
            } catch (IllegalStateException e) {
                throw new BootstrapException(
                        NetworkSettings.ENCRYPTION.name() + "=" + encryption.label() + ": " + Causes.describe(e), e);
            }
        }
    }

    /**
     * Refuses a launcher's rendezvous whose secret others could guess, if encryption is required.
     *
     * @throws BootstrapException if it is refused; the message names the remedy
     */
    static void requireSecret(Settings settings, Launch.Address rendezvous) {
        Optional<String> weakness = rendezvous.weakness();
        if (settings.get(NetworkSettings.ENCRYPTION) == Encryption.REQUIRED && weakness.isPresent()) {
            throw new BootstrapException("JCCL_ENCRYPTION=required: others could guess the secret of the rendezvous "
                    + rendezvous.host() + ":" + rendezvous.port() + ": " + weakness.get()
                    + "; set JCCL_RENDEZVOUS=HOST:PORT/SECRET on all ranks, with the output of `openssl rand -hex 16`");
        }
    }

    /**
     * Refuses an id whose secret is not random, if encryption is required.
     *
     * @throws BootstrapException if it is refused
     */
    static void requireRandom(Settings settings, UniqueId id) {
        if (settings.get(NetworkSettings.ENCRYPTION) == Encryption.REQUIRED && Secrets.areGuessable(id.secret())) {
            throw new BootstrapException(
                    "JCCL_ENCRYPTION=required: the secret of the UniqueId is not random; make the id"
                            + " with UniqueId.create()");
        }
    }

    static BootstrapOptions bootstrap(Settings settings) {
        return BootstrapOptions.defaults("build " + NativeLoader.buildId())
                .withInitTimeout(settings.get(TimeSettings.INIT_TIMEOUT))
                .withHeartbeat(
                        settings.get(TimeSettings.HEARTBEAT_INTERVAL), settings.get(TimeSettings.HEARTBEAT_TIMEOUT))
                .withInterfaces(settings)
                .withEncryption(settings.get(NetworkSettings.ENCRYPTION).isUsed())
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
     * Compares the values that must be the same on all ranks; all ranks call this together.
     *
     * @param name the communicator's name, empty if it has none
     * @return the file of graphs, if all ranks have the same
     * @throws io.jccl.BootstrapException if settings differ
     */
    static Optional<GraphFile> requireSame(InitContext context, String name, HostCosts costs) {
        Optional<GraphFile> graphs = GraphFile.of(context.settings());
        Map<String, SharedSettings.Value> mine = shared(context.settings(), costs, graphs);
        mine.put(NAME, new SharedSettings.Value(NAME, name));
        Set<String> ignored = SharedSettings.requireSame(context, mine, Set.of(TopologySettings.GRAPH_FILE.name()));
        if (ignored.isEmpty()) {
            return graphs;
        }
        if (context.rank() == 0) {
            LoggedOnce.warn(
                    InitSettings.class,
                    "NCCL_GRAPH_FILE: its content is not the same on all ranks, or some have none; it is ignored, and channels"
                            + " are searched instead");
        }
        return Optional.empty();
    }

    /** Compares a rank's name of the communicator with rank 0's. */
    static void requireSameName(String first, int peer, String name) {
        if (!first.equals(name)) {
            throw SharedSettings.different(
                    NAME, new SharedSettings.Value(NAME, first), peer, new SharedSettings.Value(NAME, name));
        }
    }

    /**
     * Returns the values that must be the same on all ranks, by the names of the settings. Files are compared by
     * content, not by path.
     */
    static Map<String, SharedSettings.Value> shared(Settings settings, HostCosts costs, Optional<GraphFile> graphs) {
        Map<String, SharedSettings.Value> values = new TreeMap<>();
        for (Setting<?> setting : SHARED) {
            put(values, settings, setting, settings.text(setting));
        }
        String source = costs.source().substring(0, Math.min(costs.source().length(), MAX_SOURCE));
        put(values, settings, AlgorithmSettings.TUNING_PROFILE, "table " + costs.fingerprint() + ": " + source);
        String content = graphs.map(file -> "content " + file.digest()).orElse("");
        put(values, settings, TopologySettings.GRAPH_FILE, content);
        return values;
    }

    private static void put(
            Map<String, SharedSettings.Value> values, Settings settings, Setting<?> setting, String text) {
        values.put(
                setting.name(),
                new SharedSettings.Value(settings.origin(setting).name(), text));
    }
}
