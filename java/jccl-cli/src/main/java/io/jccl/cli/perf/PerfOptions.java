package io.jccl.cli.perf;

import io.jccl.Algorithm;
import io.jccl.CommunicatorConfig;
import io.jccl.DataType;
import io.jccl.Protocol;
import io.jccl.ReduceOp;
import io.jccl.TransportKind;
import io.jccl.nativelib.CudaLoader;
import java.util.Optional;

/**
 * What one run of {@code jccl perf} is asked to do, checked.
 *
 * @param collective what is measured
 * @param ladder the sizes
 * @param type of the elements
 * @param op of collectives that reduce
 * @param root of collectives that have one
 * @param iterations timed iterations, or 0 for as many as fit into the budget
 * @param warmup untimed iterations before each measurement, or -1 for a share of the budget
 * @param budgetSeconds the time for each measurement when iterations is 0
 * @param algorithm forced
 * @param protocol forced
 * @param transport forced
 * @param channels forced
 * @param memory where buffers live
 * @param check whether results are verified
 * @param outputs where results go
 */
record PerfOptions(
        PerfCollective collective,
        SizeLadder ladder,
        DataType type,
        ReduceOp op,
        int root,
        int iterations,
        int warmup,
        double budgetSeconds,
        Optional<Algorithm> algorithm,
        Optional<Protocol> protocol,
        Optional<TransportKind> transport,
        Optional<Integer> channels,
        MemoryKind memory,
        boolean check,
        Outputs outputs) {

    /** What executes operations. */
    String backend() {
        return memory == MemoryKind.DEVICE ? "cuda" : "host";
    }

    /** The device of a rank, if devices are used: all that this process can see, in turn. */
    Optional<Integer> deviceOf(int rank) {
        return memory == MemoryKind.DEVICE ? Optional.of(rank % CudaLoader.devices()) : Optional.empty();
    }

    /** The settings of the communicator under test, for one rank. */
    CommunicatorConfig communicatorConfig(int rank) {
        CommunicatorConfig.Builder config = CommunicatorConfig.builder();
        deviceOf(rank).ifPresent(config::device);
        algorithm.ifPresent(config::algorithm);
        protocol.ifPresent(config::protocol);
        transport.ifPresent(config::transport);
        channels.ifPresent(config::channels);
        return config.build();
    }
}
