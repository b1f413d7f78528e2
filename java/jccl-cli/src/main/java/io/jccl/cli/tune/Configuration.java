package io.jccl.cli.tune;

import io.jccl.Algorithm;
import io.jccl.CommunicatorConfig;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.config.AlgorithmSettings;
import io.jccl.config.Settings;
import io.jccl.config.TimeSettings;
import io.jccl.config.TransportSettings;
import io.jccl.tuning.HostCosts;
import io.jccl.tuning.TuningOverrides;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A combination of settings that executes an operation.
 *
 * @param name name for people
 * @param settings settings of its communicator
 * @param sharedMemory true if its buffers are shared between the ranks
 * @param sizes sizes in bytes at which it is timed
 */
record Configuration(String name, Map<String, String> settings, boolean sharedMemory, List<Long> sizes) {

    /** Heartbeats are rarer than usual: a run has many communicators, whose heartbeats would disturb it. */
    private static final Map<String, String> QUIET = Map.of(
            TimeSettings.HEARTBEAT_INTERVAL.name(), "30s",
            TimeSettings.HEARTBEAT_TIMEOUT.name(), "120s");

    /** Returns the configuration in which the cost model chooses, with one channel. */
    static Configuration automatic(TransportKind transport, List<Long> sizes) {
        Map<String, String> settings = new LinkedHashMap<>(QUIET);
        settings.put(TransportSettings.TRANSPORT.name(), transport.label());
        settings.put(AlgorithmSettings.ALGO.name(), "auto");
        settings.put(AlgorithmSettings.PROTO.name(), "auto");
        settings.put(AlgorithmSettings.CHUNK_BYTES.name(), "0");
        settings.put(AlgorithmSettings.MIN_NCHANNELS.name(), "1");
        settings.put(AlgorithmSettings.MAX_NCHANNELS.name(), "1");
        return new Configuration("automatic", settings, false, sizes);
    }

    /** Returns the configuration that forces an algorithm and a protocol. */
    static Configuration forced(TransportKind transport, Algorithm algorithm, Protocol protocol, List<Long> sizes) {
        return automatic(transport, sizes)
                .with(AlgorithmSettings.ALGO.name(), algorithm.label())
                .with(AlgorithmSettings.PROTO.name(), protocol.label())
                .named(algorithm.label() + "/" + protocol.label());
    }

    /** Returns a configuration for every algorithm with every protocol. */
    static List<Configuration> allForced(TransportKind transport, List<Long> sizes) {
        List<Configuration> configurations = new ArrayList<>();
        for (Algorithm algorithm : HostCosts.ALGORITHMS) {
            for (Protocol protocol : Protocol.values()) {
                configurations.add(forced(transport, algorithm, protocol, sizes));
            }
        }
        return configurations;
    }

    Configuration named(String newName) {
        return new Configuration(newName, settings, sharedMemory, sizes);
    }

    Configuration with(String setting, String value) {
        Map<String, String> changed = new LinkedHashMap<>(settings);
        changed.put(setting, value);
        return new Configuration(name, changed, sharedMemory, sizes);
    }

    Configuration inSharedMemory() {
        return new Configuration(name, settings, true, sizes);
    }

    /** Returns the configuration of its communicator. */
    CommunicatorConfig config() {
        CommunicatorConfig.Builder builder = CommunicatorConfig.builder();
        settings.forEach(builder::setting);
        return builder.build();
    }

    /** Returns the overrides of the cost model that its settings contain. */
    TuningOverrides overrides() {
        Settings all = Settings.load(config());
        return TuningOverrides.of(
                all.get(AlgorithmSettings.ALGO),
                all.get(AlgorithmSettings.PROTO),
                all.get(AlgorithmSettings.MIN_NCHANNELS),
                all.get(AlgorithmSettings.MAX_NCHANNELS),
                all.get(AlgorithmSettings.CHUNK_BYTES));
    }
}
