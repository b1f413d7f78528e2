package io.jccl.integration;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import io.jccl.UniqueId;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * Scenario that occurred in a large job: one rank's heap is full for a while. Then the program frees the objects and
 * continues.
 */
final class FullHeap {

    private static final int ROUNDS = 20;
    private static final int CELL_BYTES = 16;

    @SuppressWarnings("unused") // so that the compiler does not remove the objects
    private static volatile Object filling;

    private FullHeap() {}

    /** Arguments: the rank whose heap is full, and for how many milliseconds. */
    static void run(UniqueId id, int rank, int size, List<String> rest) throws InterruptedException {
        boolean isVictim = rank == Integer.parseInt(rest.get(0));
        Duration hold = Duration.ofMillis(Long.parseLong(rest.get(1)));
        try (Communicator comm =
                Communicator.init(id, rank, size, LocalRanks.config().build())) {
            float[] values = new float[64];
            DataBuffer buffer = DataBuffer.of(values);
            comm.allReduce(buffer, ReduceOp.SUM).await();
            if (isVictim) {
                fill(System.nanoTime() + hold.toNanos());
                RankMain.print("FREED");
            } else {
                Thread.sleep(hold.toMillis());
            }
            for (int round = 0; round < ROUNDS; round++) {
                Arrays.fill(values, 1);
                comm.allReduce(buffer, ReduceOp.SUM).await();
                if (values[3] != size) {
                    throw new AssertionError("round=" + round + " value=" + values[3] + ": expected " + size);
                }
                Thread.sleep(50); // all rounds together take longer than a heartbeat interval
            }
            RankMain.print("RESULT ok");
        } catch (RuntimeException | Error e) {
            RankMain.print("FAILED " + e);
            throw e;
        }
    }

    /** Fills the heap until {@code deadline}, so that it has no room for even the smallest object. */
    private static void fill(long deadline) {
        Object[] last = null;
        while (System.nanoTime() - deadline < 0) {
            try {
                last = new Object[] {last, new byte[CELL_BYTES]};
                filling = last;
            } catch (OutOfMemoryError e) {
                Thread.onSpinWait();
            }
        }
        filling = null;
    }
}
