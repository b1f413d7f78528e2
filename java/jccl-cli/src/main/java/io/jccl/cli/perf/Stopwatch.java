package io.jccl.cli.perf;

import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;

/**
 * Times a call as nccl-tests does: each rank averages over consecutive iterations, and the slowest rank's average is
 * the result. Quantiles come from a second pass with a time stamp after each iteration, so that taking stamps does not
 * slow down the averaged pass.
 */
final class Stopwatch {

    private static final int MAX_ITERATIONS = 200_000;
    private static final int MIN_ITERATIONS = 5;
    private static final int MAX_STAMPS = 20_000;
    private static final double STRETCH_SECONDS = 0.1;
    private static final int STEADY_STRETCHES = 4;
    private static final int MAX_STRETCHES = 60;
    private static final double FASTER = 0.95;
    private static final int MAX_TRIES = 10; // of a measurement during which the compiler was busy
    private static final double COMPILING_MILLIS = 10; // in a stretch; the compiler spends less than this on other code
    private static final double WARMUP_SHARE = 0.15;
    private static final double ENOUGH_OF_BUDGET = 0.7;
    private static final double STAMPS_SHARE = 0.5;
    private static final int WARMUP_BATCH_NANOS = 5_000_000;

    /**
     * The times of the slowest rank.
     *
     * @param averageUs mean time of an iteration in µs
     * @param p50Us median in µs
     * @param p99Us 99th percentile in µs
     */
    record Times(double averageUs, double p50Us, double p99Us) {

        private Times dividedBy(int operations) {
            return new Times(averageUs / operations, p50Us / operations, p99Us / operations);
        }
    }

    private final Exchange exchange;
    private final PerfOptions options;
    // Calls out of place and in place are compiled separately, because they take different branches.
    private int coldCalls = 2;

    Stopwatch(Exchange exchange, PerfOptions options) {
        this.exchange = exchange;
        this.options = options;
    }

    /**
     * Measures an operation that a repetition runs; all ranks measure the same one at the same time. An iteration is a
     * batch of the repetition, and the result is the time of each operation in it.
     */
    Times measure(Repetition call) {
        if (coldCalls > 0 && options.warmup() < 0) {
            coldCalls--;
            untilCompiled(call);
            measureOnce(call); // entering the loops a second time makes the JIT compile them again
        }
        if (options.warmup() >= 0) {
            return measureOnce(call).dividedBy(call.batch());
        }
        for (int tries = 1; ; tries++) {
            long compiledMillis = compilationMillis();
            Times times = measureOnce(call);
            if (!compiledSince(compiledMillis) || tries == MAX_TRIES) {
                return times.dividedBy(call.batch());
            }
        }
    }

    private Times measureOnce(Repetition call) {
        double estimateNanos = warmUp(call);
        exchange.barrier();
        int iterations = batches(call, options.iterations());
        double average = iterations > 0 ? estimate(call, iterations) : averageOverBudget(call, estimateNanos);

        int stamps = iterations > 0 ? iterations : fitting(average, STAMPS_SHARE);
        exchange.barrier();
        long[] intervals = Statistics.sortedIntervals(stamp(call, Math.min(stamps, MAX_STAMPS)));
        double p50 = exchange.max(Statistics.quantile(intervals, 0.5));
        double p99 = exchange.max(Statistics.quantile(intervals, 0.99));
        return new Times(average / 1e3, p50 / 1e3, p99 / 1e3);
    }

    /**
     * Runs batches until the budget is used up; returns the slowest rank's average in ns. One batch is not enough: an
     * estimate that was taken while other processes had the cores makes the batch too short.
     */
    private double averageOverBudget(Repetition call, double estimateNanos) {
        double budgetNanos = options.budgetSeconds() * 1e9;
        double each = estimateNanos;
        double spentNanos = 0; // on the slowest rank, so that all ranks stop after the same batch
        long ownNanos = 0;
        int done = 0;
        do {
            int batch = Math.min(fitting(each, 1 - spentNanos / budgetNanos), MAX_ITERATIONS - done);
            long nanos = repeat(call, batch);
            ownNanos += nanos;
            done += batch;
            each = Math.max(1, exchange.max((double) nanos / batch));
            spentNanos += each * batch;
        } while (spentNanos < ENOUGH_OF_BUDGET * budgetNanos && done < MAX_ITERATIONS);
        return exchange.max((double) ownNanos / done);
    }

    private int fitting(double nanosEach, double share) {
        double count = options.budgetSeconds() * share * 1e9 / Math.max(nanosEach, 1);
        return (int) Math.max(MIN_ITERATIONS, Math.min(MAX_ITERATIONS, count));
    }

    /**
     * Runs the call until it is warm; returns an estimate of an iteration's time in ns, equal on all ranks, or 0 if the
     * options make it unnecessary.
     */
    private double warmUp(Repetition call) {
        if (options.warmup() >= 0) {
            repeat(call, batches(call, options.warmup()));
            return options.iterations() > 0 ? 0 : estimate(call, 1);
        }
        return runFor(call, options.budgetSeconds() * WARMUP_SHARE);
    }

    /**
     * Runs the call, in stretches of a fixed time, until the JIT compiler has finished with it. No fixed total time is
     * long enough: if ranks spin on every core, the compiler's threads get little time. The compiler has finished when,
     * in a few stretches in a row, no rank's compiler was busy and no stretch was faster than the best before. If ranks
     * outnumber the cores, times taken while the compiler works are wrong, because its threads compete for the cores.
     */
    private void untilCompiled(Repetition call) {
        double best = runFor(call, STRETCH_SECONDS);
        int steady = 0;
        for (int stretch = 1; stretch < MAX_STRETCHES && steady < STEADY_STRETCHES; stretch++) {
            long compiledMillis = compilationMillis();
            double each = runFor(call, STRETCH_SECONDS);
            stamp(call, (int) Math.max(1, Math.min(MAX_STAMPS, STRETCH_SECONDS * 1e9 / each)));
            steady = compiledSince(compiledMillis) || each < best * FASTER ? 0 : steady + 1;
            best = Math.min(best, each);
        }
    }

    /** Returns true if a rank's compiler was busy since {@link #compilationMillis} returned {@code before}. */
    private boolean compiledSince(long before) {
        return exchange.max(compilationMillis() - before) >= COMPILING_MILLIS;
    }

    /**
     * Returns the time in ms that the JIT compiler has spent so far; 0 if there is no compiler or it does not report
     * its time.
     */
    private static long compilationMillis() {
        CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();
        return compiler != null && compiler.isCompilationTimeMonitoringSupported()
                ? compiler.getTotalCompilationTime()
                : 0;
    }

    /** Runs the call for a time, in batches; returns an iteration's time in ns from the last batch. */
    private double runFor(Repetition call, double seconds) {
        double spent = 0;
        int batch = 1;
        while (true) {
            double each = estimate(call, batch);
            spent += each * batch / 1e9;
            if (spent >= seconds) {
                return each;
            }
            double left = Math.min(WARMUP_BATCH_NANOS, (seconds - spent) * 1e9);
            batch = (int) Math.max(1, Math.min(left / each, Math.min(batch * 8.0, MAX_ITERATIONS)));
        }
    }

    /** Returns the number of batches that contain at least {@code operations} operations. */
    private static int batches(Repetition call, int operations) {
        return (operations + call.batch() - 1) / call.batch();
    }

    private double estimate(Repetition call, int iterations) {
        return Math.max(1, exchange.max((double) repeat(call, iterations) / iterations));
    }

    private static long repeat(Repetition call, int iterations) {
        long begin = System.nanoTime();
        call.run(iterations);
        return System.nanoTime() - begin;
    }

    private static long[] stamp(Repetition call, int iterations) {
        long[] stamps = new long[iterations + 1];
        Arrays.fill(stamps, 0); // touches its pages before time is taken
        stamps[0] = System.nanoTime();
        for (int i = 1; i <= iterations; i++) {
            call.run(1);
            stamps[i] = System.nanoTime();
        }
        return stamps;
    }
}
