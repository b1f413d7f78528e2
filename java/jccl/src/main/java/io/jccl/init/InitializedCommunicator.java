package io.jccl.init;

import io.jccl.CommunicatorConfig;
import io.jccl.PeerTransport;
import io.jccl.bootstrap.Bootstrap;
import io.jccl.nativelib.NativeEngine;
import io.jccl.nativelib.NativeProfiler;
import io.jccl.plan.Plan;
import io.jccl.status.CommunicatorStatus;
import io.jccl.tuning.ChoiceTable;
import io.jccl.tuning.HostCosts;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * What initialisation returns: a connected native engine, the networks beside it, and what was decided.
 *
 * @param id a short name, the same on all ranks
 * @param rank this rank
 * @param size the number of ranks
 * @param config what the application asked for
 * @param costs what the host's cost model was built from
 * @param timeout how long one operation may take
 * @param initTimeout how long initialisation may take
 * @param engine connected, with rings and trees set
 * @param plan rings and trees of all ranks
 * @param choices how each operation is executed
 * @param transports what joins this rank to each other, in rank order
 * @param device what works on its GPU, if it has one and kernels execute operations
 * @param stagedDevice what stages operations of its GPU, if it has one and the host executes them
 * @param profiler the plug-in that gets events of operations, if there is one
 * @param rendezvousAddresses where each rank is reached when others have failed, by rank
 * @param status what others see of it
 * @param membership the networks beside the engine: for agreeing on slow things, and for noticing failures
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
