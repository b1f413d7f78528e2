package io.jccl.integration;

import static io.jccl.integration.ResultsTest.longs;
import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import io.jccl.testing.Resources;
import io.jccl.testing.Resources.Snapshot;

/**
 * The resources that this process holds before and after it has repeated a cycle of its communicators.
 *
 * @param cycles number of cycles between the two snapshots
 */
record Cycles(int cycles, Snapshot before, Snapshot after) {

    /** The first cycles create what lives as long as the process: threads of the log, tables, caches. */
    private static final int WARM_UP_CYCLES = 5;

    /**
     * Largest growth of native memory that is allowed. It leaves room for the JVM's own native memory, such as compiled
     * code.
     */
    private static final long MAX_GROWTH_BYTES = 64L << 20;

    private static final long THREAD_END_MILLIS = 3000L * LocalRanks.SLOWNESS;

    static int count() {
        return Integer.getInteger("jccl.leak.cycles", 30);
    }

    /** Counts resources, repeats a cycle, and counts again. */
    static Cycles of(Runnable cycle) {
        for (int i = 0; i < WARM_UP_CYCLES; i++) {
            cycle.run();
        }
        System.gc();
        Snapshot before = Resources.now();
        for (int i = 0; i < count(); i++) {
            cycle.run();
        }
        return new Cycles(count(), before, afterThreadsEnded(before));
    }

    /** Counts resources after threads and descriptors have had time to end. */
    private static Snapshot afterThreadsEnded(Snapshot before) {
        System.gc();
        Snapshot now = Resources.now();
        long end = System.nanoTime() + THREAD_END_MILLIS * 1_000_000L;
        while (System.nanoTime() - end < 0
                && (now.threads().size() > before.threads().size() || now.descriptors() > before.descriptors())) {
            Thread.onSpinWait();
            now = Resources.now();
        }
        return now;
    }

    /** Executes operations that open every kind of connection. */
    static void use(Communicator comm) {
        long[] small = {comm.rank()};
        comm.allReduce(DataBuffer.of(small), ReduceOp.SUM).await();
        assertThat(small[0]).isEqualTo((long) comm.size() * (comm.size() - 1) / 2);
        comm.allReduce(DataBuffer.of(new long[20_000]), ReduceOp.SUM).await();
        int next = (comm.rank() + 1) % comm.size();
        int previous = (comm.rank() + comm.size() - 1) % comm.size();
        comm.group(group -> {
                    group.send(next, DataBuffer.of(longs(comm.rank())));
                    group.recv(previous, DataBuffer.of(longs(0)));
                })
                .await();
    }

    void requireNothingLeft() {
        assertThat(after.descriptors()).as("descriptors, %s", this).isLessThanOrEqualTo(before.descriptors());
        assertThat(after.threads())
                .as("threads, %s", this)
                .hasSizeLessThanOrEqualTo(before.threads().size());
        assertThat(after.sharedMappings()).as("shared memory, %s", this).isLessThanOrEqualTo(before.sharedMappings());
        assertThat(after.verbsObjects()).as("objects of verbs, %s", this).isLessThanOrEqualTo(before.verbsObjects());
        assertThat(after.nativeBytes() - before.nativeBytes())
                .as("memory, %s", this)
                .isLessThan(MAX_GROWTH_BYTES);
    }
}
