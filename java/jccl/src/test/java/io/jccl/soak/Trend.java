package io.jccl.soak;

import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * Judges whether a quantity stays flat after the warm-up: neither its least-squares line nor its median, from the first
 * to the last quarter, grows by more than a bound.
 *
 * @param name the name of the quantity
 * @param unit the unit of its values
 * @param value returns the quantity of a sample
 * @param bound the largest growth that counts as flat
 * @param minSeconds the shortest run for which the quantity is judged
 */
record Trend(String name, String unit, ToDoubleFunction<Sample> value, double bound, int minSeconds) {

    private static final int KIB_IN_MIB = 1024;

    /** Share of a run after which Java's compiler, its classes and glibc's arenas have stopped growing. */
    private static final double WARM_UP = 0.25;

    /** Shortest run for memory, in seconds: four times as long as the compiler, classes and arenas grow. */
    private static final int SETTLED = 480;

    /**
     * The quantities of every process. A leak of one descriptor, thread or mapping in ten epochs is far beyond these
     * bounds.
     */
    static final List<Trend> ALL = List.of(
            new Trend("resident memory", "MiB", sample -> (double) sample.residentKib() / KIB_IN_MIB, 12, SETTLED),
            new Trend("native memory", "MiB", sample -> (double) sample.nativeKib() / KIB_IN_MIB, 12, SETTLED),
            new Trend("shared memory", "MiB", sample -> (double) sample.sharedKib() / KIB_IN_MIB, 1, 0),
            new Trend("descriptors", "", Sample::descriptors, 1.5, 0),
            new Trend("threads", "", Sample::threads, 1.5, 0));

    /**
     * The growth of a quantity, and whether it is flat.
     *
     * @param byLine growth along the least-squares line, from the end of the warm-up to the end
     * @param byMedians the median of the last quarter minus that of the first after the warm-up
     */
    record Finding(double byLine, double byMedians, double median, boolean isFlat) {

        String describe(Trend trend) {
            return String.format(
                    Locale.ROOT,
                    "%s: median %.1f %s, line %+.2f, medians %+.2f, bound %.1f%s",
                    trend.name,
                    median,
                    trend.unit,
                    byLine,
                    byMedians,
                    trend.bound,
                    isFlat ? "" : "  GROWS");
        }
    }

    /** Judges the samples of one process, which must be in the order of time. */
    Finding of(List<Sample> samples) {
        double end = samples.get(samples.size() - 1).seconds();
        double begin =
                samples.get(0).seconds() + WARM_UP * (end - samples.get(0).seconds());
        List<Sample> warm =
                samples.stream().filter(sample -> sample.seconds() >= begin).toList();
        double byLine = slope(warm) * (end - begin);
        int quarter = Math.max(1, warm.size() / 4);
        double byMedians = median(warm.subList(warm.size() - quarter, warm.size())) - median(warm.subList(0, quarter));
        return new Finding(byLine, byMedians, median(warm), byLine <= bound && byMedians <= bound);
    }

    List<Double> values(List<Sample> samples) {
        return samples.stream().map(value::applyAsDouble).toList();
    }

    private double slope(List<Sample> samples) {
        double meanX = samples.stream().mapToDouble(Sample::seconds).average().orElse(0);
        double meanY = samples.stream().mapToDouble(value).average().orElse(0);
        double products = 0;
        double squares = 0;
        for (Sample sample : samples) {
            double x = sample.seconds() - meanX;
            products += x * (value.applyAsDouble(sample) - meanY);
            squares += x * x;
        }
        return squares == 0 ? 0 : products / squares;
    }

    private double median(List<Sample> samples) {
        double[] sorted = samples.stream().mapToDouble(value).sorted().toArray();
        return sorted[sorted.length / 2];
    }
}
