package io.jccl.soak;

import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * Whether a quantity stays flat after the warm-up: neither the least-squares line over all of it, nor the difference of the
 * medians of its first and last quarter, grows by more than a bound.
 *
 * @param name of the quantity
 * @param unit of its values
 * @param value what it is of a sample
 * @param bound the largest growth that is flat
 * @param minSeconds how long a run must be for it to be judged
 */
record Trend(String name, String unit, ToDoubleFunction<Sample> value, double bound, int minSeconds) {

    private static final int KIB_IN_MIB = 1024;

    /** The time that Java's compiler, its classes and glibc's arenas take to stop growing, as a share of the run. */
    private static final double WARM_UP = 0.25;

    /** Four times what these take. */
    private static final int SETTLED = 480;

    /** Of every process. A leak of one descriptor, thread or mapping in ten epochs is far beyond these bounds. */
    static final List<Trend> ALL = List.of(
            new Trend("resident memory", "MiB", sample -> (double) sample.residentKib() / KIB_IN_MIB, 12, SETTLED),
            new Trend("native memory", "MiB", sample -> (double) sample.nativeKib() / KIB_IN_MIB, 12, SETTLED),
            new Trend("shared memory", "MiB", sample -> (double) sample.sharedKib() / KIB_IN_MIB, 1, 0),
            new Trend("descriptors", "", Sample::descriptors, 1.5, 0),
            new Trend("threads", "", Sample::threads, 1.5, 0));

    /**
     * What was found.
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

    /** Looks at the samples of one process, in the order of time. */
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
