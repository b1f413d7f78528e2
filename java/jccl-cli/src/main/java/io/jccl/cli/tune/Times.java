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
