package io.jccl.cli.perf;

import io.jccl.cli.output.ByteSizes;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.DoubleStream;

/** A logarithmic axis: chooses the ticks and computes the coordinate of each value. */
final class LogAxis {

    private static final int MAX_SIZE_LABELS = 7;
    private static final int MAX_VALUE_LABELS = 9;
    private static final int[] DIGITS = {1, 2, 5};
    private static final double ROUNDING = 1e-9;

    /**
     * A tick of the axis.
     *
     * @param value value at the tick
     * @param label label of the tick, empty if it has none
     */
    record Tick(double value, String label) {}

    private final List<Tick> ticks;
    private final double low;
    private final double high;
    private final double from;
    private final double to;

    private LogAxis(List<Tick> ticks, double from, double to) {
        this.ticks = ticks;
        this.low = Math.log(ticks.get(0).value);
        this.high = Math.log(ticks.get(ticks.size() - 1).value);
        this.from = from;
        this.to = to;
    }

    /**
     * Creates an axis of sizes in bytes with a tick at each power of 2, not all of which have a label.
     *
     * @param sizes at least one, all above 0
     * @param from coordinate at which the axis begins
     * @param to coordinate at which the axis ends
     */
    static LogAxis ofSizes(long[] sizes, double from, double to) {
        int first = Integer.MAX_VALUE;
        int last = 0;
        for (long size : sizes) {
            int below = 63 - Long.numberOfLeadingZeros(size);
            first = Math.min(first, below);
            last = Math.max(last, Long.bitCount(size) == 1 ? below : below + 1);
        }
        if (first == last) {
            first = Math.max(0, first - 1);
            last++;
        }
        int stride = (last - first) / MAX_SIZE_LABELS + 1;
        List<Tick> ticks = new ArrayList<>();
        for (int power = first; power <= last; power++) {
            ticks.add(new Tick(
                    Math.scalb(1.0, power), (power - first) % stride == 0 ? ByteSizes.format(1L << power) : ""));
        }
        return new LogAxis(ticks, from, to);
    }

    /**
     * Creates an axis of values with ticks at 1, 2 and 5 times each power of 10. If these are many, only the powers of
     * 10 have labels.
     *
     * @param values at least one, all above 0
     * @param from coordinate at which the axis begins
     * @param to coordinate at which the axis ends
     */
    static LogAxis ofValues(double[] values, double from, double to) {
        int first = step(DoubleStream.of(values).min().orElseThrow());
        double max = DoubleStream.of(values).max().orElseThrow();
        int last = step(max);
        if (value(last).doubleValue() < max * (1 - ROUNDING) || last == first) {
            last++;
        }
        boolean onlyPowers = last - first >= MAX_VALUE_LABELS;
        List<Tick> ticks = new ArrayList<>();
        for (int step = first; step <= last; step++) {
            boolean labelled = !onlyPowers || Math.floorMod(step, DIGITS.length) == 0;
            BigDecimal value = value(step);
            ticks.add(new Tick(value.doubleValue(), labelled ? value.toPlainString() : ""));
        }
        return new LogAxis(ticks, from, to);
    }

    /**
     * Returns the index of the largest number of the sequence …, 1, 2, 5, 10, … that is at most a value; 1 has index 0.
     */
    private static int step(double value) {
        BigDecimal decimal = BigDecimal.valueOf(value);
        int step = DIGITS.length * (decimal.precision() - decimal.scale() - 1);
        while (value(step + 1).doubleValue() <= value * (1 + ROUNDING)) {
            step++;
        }
        return step;
    }

    private static BigDecimal value(int step) {
        return BigDecimal.valueOf(DIGITS[Math.floorMod(step, DIGITS.length)])
                .scaleByPowerOfTen(Math.floorDiv(step, DIGITS.length));
    }

    List<Tick> ticks() {
        return ticks;
    }

    /** Returns the coordinate of a value. */
    double at(double value) {
        return from + (Math.log(value) - low) / (high - low) * (to - from);
    }
}
