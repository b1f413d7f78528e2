package io.jccl.init;

import io.jccl.CommunicatorConfig;
import io.jccl.WireFormat;
import io.jccl.membership.Bootstrap;
import io.jccl.membership.GroupIdentity;
import io.jccl.parts.OperationProfiler;
import io.jccl.status.CommunicatorStatus;
import io.jccl.tuning.HostCosts;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The result of initialisation: what the communicator is, the connected engines, and the bootstrap networks.
 *
 * @param facts what the communicator is
 * @param host the part that executes operations on host memory
 * @param device the part on this rank's GPU, if it has one and kernels execute operations
 * @param stagedDevice the part that stages operations of this rank's GPU, if it has one and the host executes
 *     operations
 * @param profiler what receives the begin and the end of operations, if anything does
 * @param rendezvousAddresses the reserved address of each rank, by rank, at which the remaining ranks meet after a
 *     failure
 * @param status the state that {@code jccl ps} shows
 * @param inheritance the knowledge that communicators inherit which are split off from this one; empty if they inherit
 *     none
 * @param membership the out-of-band channel for agreements that may be slow, and the control connection for failures
 */
public record InitializedCommunicator(
        Facts facts,
        ConnectedHost host,
        Optional<ConnectedDevice> device,
        Optional<StagedDevice> stagedDevice,
        Optional<OperationProfiler> profiler,
        List<String> rendezvousAddresses,
        CommunicatorStatus status,
        Optional<Inheritance> inheritance,
        Bootstrap membership) {

    /**
     * What a communicator is.
     *
     * @param id a short name, the same on all ranks
     * @param rank this rank
     * @param size the number of ranks
     * @param config the application's configuration
     * @param costs the constants of the host's cost model
     * @param timeout the time limit of an operation
     * @param initTimeout the time limit of initialisation
     * @param wireFormat the format between hosts of operations that name none
     */
    public record Facts(
            String id,
            int rank,
            int size,
            CommunicatorConfig config,
            HostCosts costs,
            Duration timeout,
            Duration initTimeout,
            WireFormat wireFormat) {}

    /** Returns the communicator's id. */
    public String id() {
        return facts.id();
    }

    /** Returns this rank. */
    public int rank() {
        return facts.rank();
    }

    /** Returns the number of ranks. */
    public int size() {
        return facts.size();
    }

    /** Returns the application's configuration. */
    public CommunicatorConfig config() {
        return facts.config();
    }

    /** Returns a communicator's id: its name, digits of the session, and the generation; the same on all ranks. */
    static String id(CommunicatorConfig config, GroupIdentity group, int generation) {
        String name = config.name().isEmpty() ? "" : config.name() + "-";
        return name + group.name() + (generation == 0 ? "" : "-g" + generation);
    }
}
