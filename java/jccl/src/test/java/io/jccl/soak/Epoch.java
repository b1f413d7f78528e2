package io.jccl.soak;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.HostBuffer;
import io.jccl.JcclException;
import io.jccl.ReduceOp;
import io.jccl.Registration;
import io.jccl.TransportKind;
import io.jccl.UniqueId;
import io.jccl.Work;
import io.jccl.integration.Arena;
import io.jccl.integration.CollectiveCase;
import io.jccl.integration.VariantCases;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;

/**
 * The life of one communicator from its initialisation to its end. All ranks draw its operations from the same seed. A
 * third of the epochs fail, after which the remaining ranks continue for a while. Every result is checked exactly.
 */
final class Epoch {

    /** The possible ends of an epoch. */
    enum End {
        CLOSE,
        ABORT,
        MISMATCH,
        INTERRUPT,
        /** The last rank's process is killed; only if ranks are processes. */
        KILL;

        static End of(Random random, boolean ranksAreProcesses) {
            int draw = random.nextInt(12);
            return draw >= 4 ? CLOSE : draw == 3 && !ranksAreProcesses ? CLOSE : values()[draw + 1];
        }
    }

    /** Size of the memory for arrays and buffers of an epoch. */
    static final int ARENA_BYTES = CollectiveCase.arenaBytes(4);

    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final int MAX_STEPS = 24;
    private static final int REGISTERED_BYTES = 2 << 20;
    private static final int MAX_SHARED_COUNT = 100_000;
    private static final int CHAIN = 12;
    private static final int MAX_ROUNDS_UNTIL_A_WAIT = 1000;

    private final long seed;
    private final int rank;
    private final int size;
    private final boolean ranksAreProcesses;
    private final Arena arena;

    Epoch(long seed, int rank, int size, boolean ranksAreProcesses, Arena arena) {
        this.seed = seed;
        this.rank = rank;
        this.size = size;
        this.ranksAreProcesses = ranksAreProcesses;
        this.arena = arena;
    }

    /** Returns how the epoch of a seed ends. */
    static End endOf(long seed, boolean ranksAreProcesses) {
        return End.of(new Random(~seed), ranksAreProcesses);
    }

    /**
     * Runs the epoch.
     *
     * @param dies called by the rank that is to be killed; does not return
     * @return the number of steps whose results were checked
     */
    int run(UniqueId id, Runnable dies) {
        Random random = new Random(seed);
        CommunicatorConfig.Builder config =
                CommunicatorConfig.builder().timeout(TIMEOUT).initTimeout(TIMEOUT);
        int draw = random.nextInt(3);
        if (draw == 2) {
            config.hostId("host" + rank * 2 / size);
        } else {
            config.transport(draw == 1 ? TransportKind.SOCKET : TransportKind.SHM);
        }
        try (Communicator comm = Communicator.init(id, rank, size, config.build())) {
            int steps = steps(comm, random, 1 + random.nextInt(MAX_STEPS));
            End end = endOf(seed, ranksAreProcesses);
            if (end == End.CLOSE) {
                comm.barrier().await();
                return steps;
            }
            return steps + fail(comm, end, dies);
        }
    }

    private int steps(Communicator comm, Random random, int count) {
        for (int i = 0; i < count; i++) {
            step(comm, random);
        }
        return count;
    }

    private void step(Communicator comm, Random random) {
        switch (random.nextInt(12)) {
            case 0 -> registered(comm, random);
            case 1 -> shared(comm, random);
            case 2 -> group(comm, random);
            case 3, 4 -> chain(comm, random);
            case 5 -> {
                try (Communicator part = comm.split(
                                random.nextBoolean() ? 0 : comm.rank() % 2,
                                random.nextBoolean() ? comm.rank() : -comm.rank())
                        .orElseThrow()) {
                    cases(part, random, 3);
                }
            }
            case 6 -> {
                try (Communicator again = comm.shrink(List.of())) {
                    cases(again, random, 3);
                }
            }
            case 7 -> VariantCases.check(comm);
            default -> cases(comm, random, 6);
        }
    }

    private void cases(Communicator comm, Random random, int count) {
        for (CollectiveCase one : CollectiveCase.sample(random.nextLong(), comm.size(), count, true)) {
            one.check(comm, arena);
        }
    }

    /**
     * All-reduces a direct buffer while it is registered. The buffer is not registered if, on any rank, glibc has
     * placed the buffer next to other memory.
     */
    private static void registered(Communicator comm, Random random) {
        int count = REGISTERED_BYTES / Long.BYTES;
        ByteBuffer bytes = ByteBuffer.allocateDirect(REGISTERED_BYTES).order(ByteOrder.nativeOrder());
        LongBuffer values = bytes.asLongBuffer();
        int step = 1 + random.nextInt(9);
        try (Registration registration = registered(comm, bytes)) {
            assertThat(registration == null || registration.buffer().bytes() == REGISTERED_BYTES)
                    .isTrue();
            for (int i = 0; i < count; i++) {
                values.put(i, comm.rank() + (long) i * step);
            }
            comm.allReduce(DataBuffer.of(values), ReduceOp.SUM).await();
            requireSums(values, comm.size(), step);
        }
    }

    /** Registers a buffer. Returns null on all ranks if one of them cannot register its buffer. */
    private static Registration registered(Communicator comm, ByteBuffer bytes) {
        try {
            return comm.register(DataBuffer.of(bytes));
        } catch (JcclException e) {
            assertThat(e).hasMessageContaining("expected the whole of an allocation");
            return null;
        }
    }

    /** All-reduces a new host buffer. */
    private static void shared(Communicator comm, Random random) {
        int count = 1 + random.nextInt(MAX_SHARED_COUNT);
        int step = 1 + random.nextInt(9);
        try (HostBuffer buffer = HostBuffer.allocate((long) count * Long.BYTES)) {
            LongBuffer values = buffer.asByteBuffer(0, count * Long.BYTES).asLongBuffer();
            for (int i = 0; i < count; i++) {
                values.put(i, comm.rank() + (long) i * step);
            }
            comm.allReduce(DataBuffer.of(values), ReduceOp.SUM).await();
            requireSums(values, comm.size(), step);
        }
    }

    private static void requireSums(LongBuffer values, int size, int step) {
        for (int i = 0; i < values.capacity(); i++) {
            long expected = size * (size - 1L) / 2 + (long) size * i * step;
            if (values.get(i) != expected) {
                assertThat(values.get(i))
                        .as("element %d of %d", i, values.capacity())
                        .isEqualTo(expected);
            }
        }
    }

    /** Sends and receives of every pair of ranks, as one operation. */
    private static void group(Communicator comm, Random random) {
        int count = 1 + random.nextInt(3000);
        int size = comm.size();
        int rank = comm.rank();
        long[][] sent = new long[size][count];
        long[][] received = new long[size][count];
        comm.group(group -> {
                    for (int peer = 0; peer < size; peer++) {
                        if (peer != rank) {
                            Arrays.setAll(sent[peer], i -> rank * 1_000_003L + i);
                            group.send(peer, DataBuffer.of(sent[peer]));
                            group.recv(peer, DataBuffer.of(received[peer]));
                        }
                    }
                })
                .await();
        for (int peer = 0; peer < size; peer++) {
            for (int i = 0; i < count && peer != rank; i++) {
                assertThat(received[peer][i]).as("from rank %d at %d", peer, i).isEqualTo(peer * 1_000_003L + i);
            }
        }
    }

    /** Issues a chain of asynchronous operations, each of which works on the result of the previous one. */
    private static void chain(Communicator comm, Random random) {
        int count = 1 + random.nextInt(2000);
        LongBuffer values = ByteBuffer.allocateDirect(count * Long.BYTES)
                .order(ByteOrder.nativeOrder())
                .asLongBuffer();
        for (int i = 0; i < count; i++) {
            values.put(i, 1);
        }
        DataBuffer buffer = DataBuffer.of(values);
        List<Work> issued = new ArrayList<>();
        long expected = 1;
        for (int i = 0; i < CHAIN; i++) {
            issued.add(comm.allReduce(buffer, ReduceOp.SUM));
            expected *= comm.size();
        }
        issued.get(CHAIN - 1).await();
        assertThat(issued).allMatch(Work::isDone);
        for (int i = 0; i < count; i++) {
            assertThat(values.get(i)).as("element %d of a chain", i).isEqualTo(expected);
        }
    }

    /** Makes the communicator fail, which all ranks expect, and continues with the remaining ranks. */
    private int fail(Communicator comm, End end, Runnable dies) {
        boolean differs = rank == size - 1;
        try {
            comm.barrier().await(); // when the last rank has left this barrier and fails, others may still be in it
            switch (differs ? end : End.CLOSE) {
                case ABORT -> comm.abort();
                case INTERRUPT -> Thread.currentThread().interrupt();
                case KILL -> dies.run();
                case MISMATCH, CLOSE -> {}
            }
            long[] values = new long[differs && end == End.MISMATCH ? 7 : 5];
            // An interrupt ends only a wait. An operation that all others entered long ago may complete without a wait.
            for (int round = 0; round < (end == End.INTERRUPT ? MAX_ROUNDS_UNTIL_A_WAIT : 1); round++) {
                comm.allReduce(DataBuffer.of(values), ReduceOp.SUM).await();
                comm.barrier().await();
            }
            throw new AssertionError("no failure although one was expected: " + end);
        } catch (JcclException e) {
            boolean wasInterrupted = Thread.interrupted();
            assertThat(wasInterrupted && end != End.INTERRUPT).isFalse();
            if (wasInterrupted) {
                comm.abort(); // the operation that had not begun stays issued
            }
        }
        List<Integer> excluded = end == End.KILL ? List.of(size - 1) : List.of();
        try (Communicator rest = comm.shrink(excluded)) {
            int steps = steps(rest, new Random(seed + 1), 2);
            rest.barrier().await();
            return steps;
        }
    }

    /** Waits for ever, to be killed. */
    static void awaitKill() {
        try {
            new CountDownLatch(1).await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
