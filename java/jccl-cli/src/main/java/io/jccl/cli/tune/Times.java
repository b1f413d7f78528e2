package io.jccl.cli.tune;

import java.util.ArrayList;
import java.util.List;

/**
 * The times of one configuration at one size, a number for each round it took part in.
 *
 * @param configuration its index among the run's
 * @param bytes the size
 * @param micros in the order of the rounds
 */
record Times(int configuration, long bytes, List<Double> micros) {

    /** The median of all rounds. */
    double median() {
        return median(micros);
    }

    /** Of every other round, from the first (0) or the second (1); from the only one, if there is no second. */
    Times ofHalf(int first) {
        List<Double> some = new ArrayList<>();
        for (int round = Math.min(first, micros.size() - 1); round < micros.size(); round += 2) {
            some.add(micros.get(round));
        }
        return new Times(configuration, bytes, some);
    }

    /** How far the rounds lie apart: the median distance from the median, as a share of it. */
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
