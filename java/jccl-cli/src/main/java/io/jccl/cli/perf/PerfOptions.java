package io.jccl.cli.perf;

import io.jccl.Algorithm;
import io.jccl.CommunicatorConfig;
import io.jccl.DataType;
import io.jccl.Protocol;
import io.jccl.ReduceOp;
import io.jccl.TransportKind;
import io.jccl.WireFormat;
import io.jccl.nativelib.CudaLoader;
import java.util.Optional;

/**
 * The options of one run of {@code jccl perf}, checked.
 *
 * @param collective the collective that is measured
 * @param ladder the sizes
 * @param type type of the elements
 * @param op operation of collectives that reduce
 * @param root root of collectives that have one
 * @param iterations number of timed iterations, or 0 for as many as fit into the budget
 * @param warmup number of untimed iterations before each measurement, or -1 for a share of the budget
 * @param budgetSeconds time for each measurement if iterations is 0
 * @param algorithm forced algorithm; empty for JCCL's choice
 * @param protocol forced protocol; empty for JCCL's choice
 * @param transport forced transport; empty for JCCL's choice
 * @param channels forced number of channels; empty for JCCL's choice
 * @param wire format between hosts; empty for the communicator's default
 * @param memory kind of memory of the buffers
 * @param mode how operations follow one another
 * @param peer the other library that executes the same operations in turn; empty for JCCL alone
 * @param check true to verify results
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
        Optional<WireFormat> wire,
        MemoryKind memory,
        Mode mode,
        Optional<Peer> peer,
        boolean check,
        Outputs outputs) {

    PerfOptions {
        if (wire.isPresent() && memory == MemoryKind.DEVICE) {
            throw new IllegalArgumentException("wire=" + wire.get() + " memory=" + memory.label()
                    + ": expected memory of the host, because operations on device memory are exact; leave --wire out");
        }
        if (check && wire.isPresent() && wire.get().encoding() != WireFormat.Encoding.EXACT) {
            throw new IllegalArgumentException("wire=" + wire.get()
                    + ": expected exact with --check, which compares bits; other formats round, so leave --check out");
        }
        if (mode != Mode.AWAIT && memory != MemoryKind.DEVICE) {
            throw new IllegalArgumentException("mode=" + mode.label() + " memory=" + memory.label()
                    + ": expected memory=device, because only GPUs have streams and graphs; add --memory device, or use"
                    + " --mode await");
        }
    }

    /** Returns the name of the backend that executes operations. */
    String backend() {
        return memory == MemoryKind.DEVICE ? "cuda" : "host";
    }

    /**
     * Returns the device of a rank; empty for host memory. The devices that this process can see are assigned to the
     * ranks in turn.
     */
    Optional<Integer> deviceOf(int rank) {
        return memory == MemoryKind.DEVICE ? Optional.of(rank % CudaLoader.devices()) : Optional.empty();
    }

    /** Returns the configuration of the communicator under test, for one rank. */
    CommunicatorConfig communicatorConfig(int rank) {
        CommunicatorConfig.Builder config = CommunicatorConfig.builder();
        deviceOf(rank).ifPresent(config::device);
        algorithm.ifPresent(config::algorithm);
        protocol.ifPresent(config::protocol);
        transport.ifPresent(config::transport);
        channels.ifPresent(config::channels);
        wire.ifPresent(config::wireFormat);
        return config.build();
    }
}
