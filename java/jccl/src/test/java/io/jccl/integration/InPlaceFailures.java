package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.JcclException;
import io.jccl.ReduceOp;
import io.jccl.UniqueId;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Scenarios, run by {@link RankMain}, of zero-copy all-reduces that fail. Afterwards ranks reuse or close the buffers.
 */
final class InPlaceFailures {

    static final String RESULT = "RESULT ok";
    static final String REFILLED = "REFILLED";

    private static final int ROUNDS = 40;
    private static final int ROUNDS_UNTIL_READY = 5; // later rounds spend most of their time inside operations
    private static final int COUNT = 2 << 20;
    private static final int LONG_COUNT = 16 << 20;
    private static final long BYTES_PER_FLOAT = 4;
    private static final float REFILL = -7;
    private static final int NANOS_PER_ROUND = 100_000;

    private InPlaceFailures() {}

    /** Aborts operations at different moments, as one of two ranks, or as both ranks if there is only one process. */
    static void abort(UniqueId id, int rank, int size) {
        if (size == 1) {
            try (LocalRanks ranks = LocalRanks.start(2)) {
                ranks.run(InPlaceFailures::abortAgainAndAgain);
            }
        } else {
            try (Communicator comm =
                    Communicator.init(id, rank, size, LocalRanks.config().build())) {
                abortAgainAndAgain(comm);
            }
        }
        System.out.println(RESULT);
    }

    private static void abortAgainAndAgain(Communicator comm) throws JcclException {
        for (int round = 0; round < ROUNDS; round++) {
            try (Communicator aborted = comm.split(0, comm.rank()).orElseThrow()) {
                HostBuffer send = HostBuffer.allocate(COUNT * BYTES_PER_FLOAT);
                HostBuffer recv = HostBuffer.allocate(COUNT * BYTES_PER_FLOAT);
                comm.barrier().await(); // on the communicator that rank 0 does not abort
                Thread aborter = new Thread(abortAfter(aborted, (long) round * NANOS_PER_ROUND), "test-aborter");
                aborter.setDaemon(true);
                aborter.start();
                tryAllReduce(aborted, send, recv, COUNT);
                if (round % 2 == 0) {
                    send.close();
                    recv.close();
                    comm.barrier().await();
                } else {
                    refill(recv, COUNT);
                    comm.barrier().await(); // the operations of both ranks have ended
                    requireRefilled(recv, COUNT);
                    send.close();
                    recv.close();
                }
            }
        }
    }

    /** Returns a task that aborts the communicator on rank 0, {@code nanos} ns from now. */
    static Runnable abortAfter(Communicator comm, long nanos) {
        long until = System.nanoTime() + nanos;
        return () -> {
            if (comm.rank() == 0) {
                LockSupport.parkNanos(until - System.nanoTime());
                comm.abort();
            }
        };
    }

    /**
     * Rank 0 reuses its buffer after its operation has failed because rank 1 was stopped. Then rank 1 resumes.
     *
     * @param timeout time-out of every operation
     */
    static void stop(UniqueId id, int rank, int size, Duration timeout) throws Exception {
        try (Communicator comm = Communicator.init(
                        id, rank, size, LocalRanks.config().timeout(timeout).build());
                HostBuffer buffer = HostBuffer.allocate(LONG_COUNT * BYTES_PER_FLOAT)) {
            long[] pids = new long[size];
            comm.allGather(DataBuffer.of(new long[] {ProcessHandle.current().pid()}), DataBuffer.of(pids))
                    .await();
            String failure = "";
            for (int round = 0; failure.isEmpty(); round++) {
                if (round == ROUNDS_UNTIL_READY) {
                    System.out.println("READY");
                }
                failure = tryAllReduce(comm, buffer, buffer, LONG_COUNT);
            }
            if (rank == 0) {
                refill(buffer, LONG_COUNT);
                System.out.println(REFILLED + " " + failure);
                ProcessHandle peer = ProcessHandle.of(pids[1]).orElse(null);
                if (peer != null) {
                    peer.onExit().get(LocalRanks.TIMEOUT.toSeconds(), TimeUnit.SECONDS);
                }
                requireRefilled(buffer, LONG_COUNT);
            }
        }
        System.out.println(RESULT);
    }

    /** Executes an all-reduce. Returns the message of its failure, or an empty string. */
    private static String tryAllReduce(Communicator comm, HostBuffer send, HostBuffer recv, int count) {
        try {
            comm.allReduce(send.slice(0, count, DataType.FLOAT32), recv.slice(0, count, DataType.FLOAT32), ReduceOp.SUM)
                    .await();
            return "";
        } catch (JcclException e) {
            return e.getMessage();
        }
    }

    private static FloatBuffer viewOf(HostBuffer buffer, int count) {
        return buffer.asByteBuffer(0, (int) (count * BYTES_PER_FLOAT))
                .order(ByteOrder.nativeOrder())
                .asFloatBuffer();
    }

    private static void refill(HostBuffer buffer, int count) {
        FloatBuffer view = viewOf(buffer, count);
        for (int i = 0; i < count; i++) {
            view.put(i, REFILL);
        }
    }

    private static void requireRefilled(HostBuffer buffer, int count) {
        FloatBuffer view = viewOf(buffer, count);
        int wrong = 0;
        for (int i = 0; i < count; i++) {
            wrong += view.get(i) == REFILL ? 0 : 1;
        }
        assertThat(wrong)
                .as("elements that were written after the operation had failed")
                .isZero();
    }
}
