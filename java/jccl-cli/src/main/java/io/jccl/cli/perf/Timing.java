package io.jccl.cli.perf;

import io.jccl.Collective;
import io.jccl.Communicator;
import io.jccl.DataType;
import io.jccl.ReduceOp;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;

/**
 * One rank's part in timing collectives of several communicators of the same ranks with one stopwatch: float32 sums,
 * root 0, out of place. All ranks must make the same calls in the same order.
 */
public final class Timing implements AutoCloseable {

    private record Buffers(Region send, Region recv) {}

    private final PerfOptions direct;
    private final PerfOptions shared;
    private final Exchange exchange;
    private final Stopwatch stopwatch;
    private final Map<MemoryKind, Buffers> buffers = new EnumMap<>(MemoryKind.class);

    /**
     * @param lead communicator through which the ranks agree; it is not measured
     * @param maxBytes size of the largest operation
     * @param seconds time for one measurement
     */
    public Timing(Communicator lead, long maxBytes, double seconds) {
        this.direct = options(maxBytes, seconds, MemoryKind.DIRECT);
        this.shared = options(maxBytes, seconds, MemoryKind.SHARED);
        this.exchange = new Exchange(lead);
        this.stopwatch = new Stopwatch(exchange, direct);
    }

    private static PerfOptions options(long maxBytes, double seconds, MemoryKind memory) {
        return new PerfOptions(
                PerfCollective.of(Collective.ALL_REDUCE),
                new SizeLadder(1, maxBytes, 2, 0),
                DataType.FLOAT32,
                ReduceOp.SUM,
                0,
                0,
                -1,
                seconds,
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                memory,
                Mode.AWAIT,
                Optional.empty(),
                false,
                Outputs.NONE);
    }

    /**
     * Returns the slowest rank's average time of an operation, in microseconds.
     *
     * @param sharedMemory true for buffers that are {@link io.jccl.HostBuffer}s, false for direct ones
     */
    public double micros(Communicator communicator, Collective collective, long bytes, boolean sharedMemory) {
        PerfOptions options = sharedMemory ? shared : direct;
        Buffers memory = buffers.computeIfAbsent(options.memory(), any -> allocate(communicator, options));
        Shape shape = Shape.of(
                PerfCollective.of(collective),
                communicator.size(),
                bytes,
                options.type().bytes());
        Workload workload = new Workload(communicator, shape, options, memory.send, memory.recv, false);
        return stopwatch.measure(Repetition.awaiting(workload.call())).averageUs();
    }

    private static Buffers allocate(Communicator communicator, PerfOptions options) {
        long bytes = options.ladder().maxBytes();
        Buffers memory = new Buffers(
                Region.allocate(communicator, options.memory(), bytes, Optional.empty()),
                Region.allocate(communicator, options.memory(), bytes, Optional.empty()));
        memory.send.set((byte) 0, 0, bytes); // touches its pages; sums of zeros neither overflow nor meet subnormals
        memory.recv.set((byte) 0, 0, bytes);
        return memory;
    }

    /** Returns the largest of all ranks' numbers. */
    public double max(double value) {
        return exchange.max(value);
    }

    @Override
    public void close() {
        for (Buffers memory : buffers.values()) {
            memory.send.close();
            memory.recv.close();
        }
    }
}
