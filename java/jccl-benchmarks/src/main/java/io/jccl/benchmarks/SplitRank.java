package io.jccl.benchmarks;

import io.jccl.Communicator;
import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * A rank of {@code scripts/benchmark-split}: splits off communicators of all ranks and closes them, one after the other
 * and all at once. Rank 0 prints the times, and the descriptors and threads of its process.
 */
public final class SplitRank {

    private static final int WARM_UP = 1000;

    private SplitRank() {}

    /**
     * Runs as the rank whose number and rendezvous are in the environment.
     *
     * @param arguments how many communicators are split off, and {@code reversed} if their rank 0 is the last rank
     */
    public static void main(String[] arguments) {
        int count = Integer.parseInt(arguments[0]);
        int order = arguments.length > 1 && arguments[1].equals("reversed") ? -1 : 1;
        try (Communicator comm = Communicator.fromEnvironment()) {
            splitAndClose(comm, order, WARM_UP);
            long[] times = splitAndClose(comm, order, count);
            Arrays.sort(times);
            int descriptors = entries("fd");
            int threads = entries("task");
            List<Communicator> all = new ArrayList<>();
            comm.barrier().await();
            long begin = System.nanoTime();
            for (int i = 0; i < count; i++) {
                all.add(split(comm, order));
            }
            long opened = System.nanoTime() - begin;
            double ofEach = 1.0 / count;
            if (comm.rank() == 0) {
                System.out.printf(
                        Locale.ROOT,
                        "ranks=%d split and close: median %.2f ms, 95th percentile %.2f ms; %d at once: %.2f ms, %.1f"
                                + " descriptors and %.1f threads each%n",
                        comm.size(),
                        times[count / 2] * 1e-6,
                        times[count * 95 / 100] * 1e-6,
                        count,
                        opened * 1e-6 * ofEach,
                        (entries("fd") - descriptors) * ofEach,
                        (entries("task") - threads) * ofEach);
            }
            comm.barrier().await();
            all.forEach(Communicator::close);
        }
    }

    private static long[] splitAndClose(Communicator comm, int order, int count) {
        long[] times = new long[count];
        for (int i = 0; i < count; i++) {
            long begin = System.nanoTime();
            split(comm, order).close();
            times[i] = System.nanoTime() - begin;
        }
        return times;
    }

    private static Communicator split(Communicator comm, int order) {
        return comm.split(0, order * comm.rank()).orElseThrow();
    }

    private static int entries(String kind) {
        String[] names = new File("/proc/self/" + kind).list();
        return names == null ? 0 : names.length;
    }
}
