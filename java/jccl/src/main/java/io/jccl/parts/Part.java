package io.jccl.parts;

import io.jccl.config.Settings;
import io.jccl.planning.AddedAlgorithms;
import io.jccl.topology.NetPlugin;
import io.jccl.topology.ReducingDevice;
import java.util.List;
import java.util.Optional;

/**
 * A part of JCCL that can be left out. It has folders of its own in Java and in native code; {@code io.jccl.init.Parts}
 * lists all parts.
 */
public interface Part {

    /** Returns the algorithms that this part is expected to add to communicators with these settings. */
    default AddedAlgorithms expected(Settings settings) {
        return AddedAlgorithms.NONE;
    }

    /** Returns what adds this part's algorithms to a communicator; empty if this part has no algorithms. */
    default Optional<Extension> extension(InitContext context) {
        return Optional.empty();
    }

    /** Returns true if this part lets ranks send through GPUs of other ranks. */
    default boolean forwards() {
        return false;
    }

    /** Returns what lets a communicator's ranks send through GPUs of other ranks; present if this part forwards. */
    default Optional<SendForwarding> forwarding(InitContext context) {
        return Optional.empty();
    }

    /** Returns the network devices of this host whose network reduces, as this part knows them. */
    default List<ReducingDevice> reducingDevices(Settings settings) {
        return List.of();
    }

    /**
     * Returns what changes the choices of a communicator. All ranks call this together.
     *
     * @param communicator the communicator's name
     * @param network the network plug-in of this rank
     * @return empty if this part changes no choices
     */
    default Optional<ChoiceTuner> tuner(InitContext context, String communicator, Optional<NetPlugin> network) {
        return Optional.empty();
    }

    /**
     * Returns what receives this rank's operations.
     *
     * @param communicator the communicator's name
     * @param hosts the number of its hosts
     * @param network the network plug-in of this rank
     * @return empty if this part receives none
     */
    default Optional<OperationProfiler> profiler(
            InitContext context, String communicator, int hosts, Optional<NetPlugin> network) {
        return Optional.empty();
    }
}
