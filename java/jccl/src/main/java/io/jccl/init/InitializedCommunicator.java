package io.jccl.init;

import io.jccl.CommunicatorConfig;
import io.jccl.PeerTransport;
import io.jccl.membership.Bootstrap;
import io.jccl.nativelib.NativeEngine;
import io.jccl.nativelib.NativeProfiler;
import io.jccl.planning.Plan;
import io.jccl.status.CommunicatorStatus;
import io.jccl.tuning.ChoiceTable;
import io.jccl.tuning.HostCosts;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The result of initialisation: the connected native engine, the bootstrap networks, and all decisions.
 *
 * @param id a short name, the same on all ranks
 * @param rank this rank
 * @param size the number of ranks
 * @param config the application's configuration
 * @param costs the constants of the host's cost model
 * @param timeout the time limit of an operation
 * @param initTimeout the time limit of initialisation
 * @param engine the host's engine, connected, with rings and trees set
 * @param plan the rings and trees of all ranks
 * @param choices how each operation is executed
 * @param transports the transport to each peer, in rank order
 * @param device the part on this rank's GPU, if it has one and kernels execute operations
 * @param stagedDevice the part that stages operations of this rank's GPU, if it has one and the host executes
 *     operations
 * @param profiler the plug-in that gets events of operations, if there is one
 * @param rendezvousAddresses the reserved address of each rank, by rank, at which the remaining ranks meet after a
 *     failure
 * @param status the state that {@code jccl ps} shows
 * @param membership the out-of-band channel for agreements that may be slow, and the control connection for failures
 */
public record InitializedCommunicator(
        String id,
        int rank,
        int size,
        CommunicatorConfig config,
        HostCosts costs,
        Duration timeout,
        Duration initTimeout,
        NativeEngine engine,
        Plan plan,
        ChoiceTable choices,
        List<PeerTransport> transports,
        Optional<ConnectedDevice> device,
        Optional<StagedDevice> stagedDevice,
        Optional<NativeProfiler> profiler,
        List<String> rendezvousAddresses,
        CommunicatorStatus status,
        Bootstrap membership) {}
