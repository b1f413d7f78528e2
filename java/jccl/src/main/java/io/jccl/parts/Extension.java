package io.jccl.parts;

import io.jccl.nativelib.NativeEngine;
import io.jccl.planning.Plan;
import io.jccl.tuning.AddedGpuAlgorithm;
import io.jccl.tuning.AddedHostAlgorithm;
import java.util.List;
import java.util.Optional;

/**
 * Adds algorithms of a part to one communicator while it is initialised. All ranks call the methods together, in the
 * order in which they are declared, and get equal algorithms. The methods for GPUs are not called if kernels do not
 * execute the communicator's operations.
 */
public interface Extension {

    /**
     * Adds algorithms for host memory.
     *
     * @param engine connected to all peers
     * @param plan the plan over host memory
     */
    default List<AddedHostAlgorithm> connectHosts(NativeEngine engine, Plan plan) {
        return List.of();
    }

    /** Sets up a GPU's engine, whose rings and trees are set, before it allocates the memory of its connections. */
    default void setUpDevice(ConnectingDevice device) {}

    /**
     * Adds algorithms for GPU memory that need the host's engine. The GPU's engine is connected to all peers, but does
     * not execute operations yet.
     *
     * @param staging the host's engine for connections between GPUs that do not reach each other's memory; empty if all
     *     GPUs do
     */
    default List<AddedGpuAlgorithm> connectDevice(ConnectingDevice device, Optional<NativeEngine> staging) {
        return List.of();
    }

    /**
     * Adds algorithms for GPU memory once the GPU's engine executes operations.
     *
     * @param staging as for {@link #connectDevice}
     */
    default List<AddedGpuAlgorithm> completeDevice(ConnectingDevice device, Optional<NativeEngine> staging) {
        return List.of();
    }

    /** Returns what shares symmetric memory; called after {@link #completeDevice}. */
    default List<WindowSharing> windowSharings(ConnectingDevice device) {
        return List.of();
    }
}
