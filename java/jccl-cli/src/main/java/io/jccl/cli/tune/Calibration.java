package io.jccl.cli.tune;

import io.jccl.TransportKind;
import io.jccl.tuning.CommunicatorShape;
import io.jccl.tuning.HostCosts;
import io.jccl.tuning.HostCosts.General;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Computes a tuning profile from the times of runs. Constants that the runs do not show keep the values of the profile
 * in use, with a note.
 */
final class Calibration {

    /** A row is not used if a larger operation takes less than this share of a smaller one's time. */
    private static final double BELIEVABLE_FALL = 0.7;
    /** A row is not used if the spread of its rounds exceeds this value at the majority of sizes. */
    private static final double BELIEVABLE_SPREAD = 0.4;
    /**
     * Factor by which the direct algorithm may be slower than the best of the other algorithms and still count as good.
     */
    private static final double AS_GOOD = 1.03;
    /** Operations up to this size show what a hop costs when ranks outnumber cores. */
    private static final long SMALL_BYTES = 4096;

    /** All times of one configuration in one run, ascending by size. */
    private record Series(MeasurementRun run, Configuration configuration, CommunicatorShape shape, List<Times> times) {

        boolean oversubscribed() {
            return shape.ranksPerCore() > 1;
        }

        boolean isLocal() {
            return run.transport() != TransportKind.SOCKET;
        }

        boolean isForced() {
            return configuration.name().contains("/");
        }

        boolean isChunk() {
            return configuration.name().startsWith(MeasurementPlan.CHUNK);
        }

        boolean isDirect() {
            return configuration.name().startsWith("direct/");
        }

        Optional<Times> at(long bytes) {
            return times.stream().filter(some -> some.bytes() == bytes).findFirst();
        }
    }

    private final TunedHost host;
    private final Consumer<String> notes;
    private final List<Series> all = new ArrayList<>();

    /** @param notes receives a description of each constant that stays as it was, and why */
    Calibration(TunedHost host, Consumer<String> notes) {
        this.host = host;
        this.notes = notes;
    }

    /** Adds the times of a run. */
    void add(MeasurementRun run, List<Times> times) {
        CommunicatorShape shape = host.shape(run.transport(), run.ranks(), 1);
        for (int i = 0; i < run.configurations().size(); i++) {
            int configuration = i;
            List<Times> mine = times.stream()
                    .filter(some -> some.configuration() == configuration)
                    .toList();
            all.add(new Series(run, run.configurations().get(configuration), shape, mine));
        }
    }

    /** Returns the profile that results from the runs. */
    HostCosts profile(String source) {
        HostCosts costs = host.costs();
        costs = with(costs, General.OPERATION_US, alone());
        costs = with(
                costs,
                General.STEP_US,
                HostCostsFit.stepMicros(measurements(
                        series -> series.isChunk() && !series.oversubscribed() && series.isLocal(),
                        times -> times.bytes() < MeasurementPlan.CHUNKS_MATTER_FROM)));
        costs = HostCostsFit.fit(
                costs,
                measurements(
                        series -> series.isForced() && !series.oversubscribed() && isBelievable(series), times -> true),
                source);
        Predicate<Series> oversubscribed = series -> series.isForced() && series.oversubscribed();
        List<Measurement> small = measurements(oversubscribed, times -> times.bytes() <= SMALL_BYTES);
        costs = with(
                costs,
                General.OVERSUBSCRIBED_HOP_US,
                HostCostsFit.oversubscribed(costs, General.OVERSUBSCRIBED_HOP_US, small));
        List<Measurement> direct =
                measurements(oversubscribed.and(Series::isDirect), times -> times.bytes() > SMALL_BYTES);
        costs = with(
                costs,
                General.OVERSUBSCRIBED_DIRECT_FACTOR,
                HostCostsFit.oversubscribed(costs, General.OVERSUBSCRIBED_DIRECT_FACTOR, direct));
        costs = with(costs, General.CHANNEL_US, channel());
        costs = with(costs, General.CHUNK_BYTES, chunk(series -> series.isLocal() && !series.oversubscribed()));
        costs = with(costs, General.OVERSUBSCRIBED_CHUNK_BYTES, chunk(Series::oversubscribed));
        costs = with(costs, General.NET_CHUNK_BYTES, chunk(series -> !series.isLocal()));
        costs = with(
                costs, General.DIRECT_MAX_BYTES, directLimit(series -> series.isLocal() && !series.oversubscribed()));
        costs = with(costs, General.OVERSUBSCRIBED_DIRECT_MAX_BYTES, directLimit(Series::oversubscribed));
        costs = with(
                costs,
                General.ZERO_COPY_SEND_DIRECT_MAX_BYTES,
                directLimit(series -> !series.isLocal() && series.run().ranks() == 2));
        return with(costs, General.ZERO_COPY_MIN_BYTES, zeroCopyFrom());
    }

    private HostCosts with(HostCosts costs, General constant, OptionalDouble value) {
        if (value.isPresent()) {
            return costs.with(constant, value.getAsDouble());
        }
        notes.accept(constant.key() + " stays " + costs.get(constant)
                + ": this run cannot show it, or its measurements contradict it");
        return costs;
    }

    private List<Measurement> measurements(Predicate<Series> which, Predicate<Times> sizes) {
        List<Measurement> measurements = new ArrayList<>();
        all.stream().filter(which).forEach(series -> series.times().stream()
                .filter(sizes)
                .map(times -> new Measurement(
                        series.shape(),
                        series.run().collective(),
                        host.choice(
                                series.shape(),
                                series.configuration(),
                                series.run().collective(),
                                times.bytes()),
                        times.bytes(),
                        times.median()))
                .forEach(measurements::add));
        return measurements;
    }

    private boolean isBelievable(Series series) {
        Times before = null;
        for (Times times : series.times()) {
            if (before != null && times.median() < before.median() * BELIEVABLE_FALL) {
                disbelieve(
                        series,
                        String.format(
                                Locale.ROOT,
                                "bytes=%d took %.3g us and bytes=%d only %.3g us",
                                before.bytes(),
                                before.median(),
                                times.bytes(),
                                times.median()));
                return false;
            }
            before = times;
        }
        long wide = series.times().stream()
                .filter(times -> times.spread() > BELIEVABLE_SPREAD)
                .count();
        if (2 * wide > series.times().size()) {
            disbelieve(
                    series,
                    "the rounds lie more than " + Math.round(BELIEVABLE_SPREAD * 100) + " % apart at most sizes");
            return false;
        }
        return true;
    }

    private void disbelieve(Series series, String why) {
        notes.accept("the row of " + series.configuration().name() + " over "
                + series.run().title() + " is left out: " + why + "; try again with a larger --budget on a quiet host");
    }

    private OptionalDouble alone() {
        return all.stream()
                .filter(series -> series.run().ranks() == 1)
                .flatMap(series -> series.times().stream())
                .mapToDouble(Times::median)
                .findFirst();
    }

    private OptionalDouble channel() {
        for (Series two : all) {
            if (two.configuration().name().equals(MeasurementPlan.TWO_CHANNELS)) {
                Series one = all.stream()
                        .filter(series -> series.run() == two.run()
                                && series.configuration().name().equals("ring/simple"))
                        .findFirst()
                        .orElseThrow();
                return two.times().stream()
                        .mapToDouble(times -> times.median()
                                - one.at(times.bytes()).orElseThrow().median())
                        .filter(more -> more > 0)
                        .max();
            }
        }
        return OptionalDouble.empty();
    }

    /** Returns the step size that is fastest for large operations, by the mean of the relative times. */
    private OptionalDouble chunk(Predicate<Series> which) {
        Map<Integer, List<Double>> relative = new TreeMap<>();
        List<Series> chunks = all.stream().filter(which.and(Series::isChunk)).toList();
        for (long bytes : sizes(chunks)) {
            if (bytes < MeasurementPlan.CHUNKS_MATTER_FROM) {
                continue;
            }
            double best = best(chunks, bytes, series -> true);
            for (Series series : chunks) {
                int chunk = Integer.parseInt(series.configuration().name().substring(MeasurementPlan.CHUNK.length()));
                series.at(bytes).ifPresent(times -> relative.computeIfAbsent(chunk, any -> new ArrayList<>())
                        .add(times.median() / best));
            }
        }
        return relative.entrySet().stream()
                .min(Map.Entry.comparingByValue((one, other) -> Double.compare(mean(one), mean(other))))
                .map(entry -> OptionalDouble.of(entry.getKey()))
                .orElse(OptionalDouble.empty());
    }

    /**
     * Returns the largest size at which the direct algorithm is as good as the others in at least one of the selected
     * runs.
     */
    private OptionalDouble directLimit(Predicate<Series> which) {
        Map<MeasurementRun, List<Series>> runs =
                all.stream().filter(which.and(Series::isForced)).collect(Collectors.groupingBy(Series::run));
        return runs.values().stream()
                .flatMapToDouble(series -> sizes(series).stream()
                        .filter(bytes -> best(series, bytes, Series::isDirect)
                                <= AS_GOOD * best(series, bytes, any -> !any.isDirect()))
                        .mapToDouble(Long::doubleValue))
                .max();
    }

    /** Returns the smallest size from which on using shared buffers in place is faster at every measured size. */
    private OptionalDouble zeroCopyFrom() {
        OptionalDouble from = OptionalDouble.empty();
        List<Series> shared = all.stream()
                .filter(series -> series.configuration().sharedMemory())
                .toList();
        for (long bytes : sizes(shared)) {
            double inPlace =
                    best(shared, bytes, series -> series.configuration().name().equals(MeasurementPlan.IN_PLACE));
            double staged =
                    best(shared, bytes, series -> series.configuration().name().equals(MeasurementPlan.STAGED));
            if (inPlace >= staged) {
                from = OptionalDouble.empty();
            } else if (from.isEmpty()) {
                from = OptionalDouble.of(bytes);
            }
        }
        return from;
    }

    private static double best(List<Series> among, long bytes, Predicate<Series> which) {
        return among.stream()
                .filter(which)
                .flatMap(series -> series.at(bytes).stream())
                .mapToDouble(Times::median)
                .min()
                .orElse(Double.POSITIVE_INFINITY);
    }

    private static List<Long> sizes(List<Series> among) {
        return among.stream()
                .flatMap(series -> series.times().stream())
                .map(Times::bytes)
                .distinct()
                .sorted()
                .toList();
    }

    private static double mean(List<Double> values) {
        return values.stream().mapToDouble(value -> value).average().orElseThrow();
    }
}
