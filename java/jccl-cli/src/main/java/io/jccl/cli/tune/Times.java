package io.jccl.cli.tune;

import java.util.ArrayList;
import java.util.List;

/**
 * The times of one configuration at one size, a number for each round in which it took part.
 *
 * @param configuration index of the configuration in the run
 * @param bytes the size
 * @param micros times in microseconds, in the order of the rounds
 */
record Times(int configuration, long bytes, List<Double> micros) {

    /** Returns the median of all rounds. */
    double median() {
        return median(micros);
    }

    /**
     * Returns the times of every other round, from the first (0) or the second (1) on. If there is only one round,
     * returns its time.
     */
    Times ofHalf(int first) {
        List<Double> some = new ArrayList<>();
        for (int round = Math.min(first, micros.size() - 1); round < micros.size(); round += 2) {
            some.add(micros.get(round));
        }
        return new Times(configuration, bytes, some);
    }

    /** Returns the spread of the rounds: the median distance from the median, as a share of the median. */
    double spread() {
        double middle = median();
        return median(micros.stream().map(value -> Math.abs(value - middle)).toList()) / middle;
    }

    private static double median(List<Double> values) {
        List<Double> sorted = new ArrayList<>(values);
        sorted.sort(null);
        int half = sorted.size() / 2;
        return sorted.size() % 2 == 1 ? sorted.get(half) : (sorted.get(half - 1) + sorted.get(half)) / 2;
    }
}
