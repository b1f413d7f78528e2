package io.jccl.search;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

/** A network of directed arcs with widths. Computes the largest flow between two nodes (Edmonds and Karp). */
final class FlowNetwork {

    /** Share of the widest arc below which a remaining width is a rounding error and counts as zero. */
    private static final double NOTHING = 1e-12;

    private final List<List<Integer>> arcsOf = new ArrayList<>();
    private final List<Integer> target = new ArrayList<>();
    private final List<Double> width = new ArrayList<>();

    int addNode() {
        arcsOf.add(new ArrayList<>());
        return arcsOf.size() - 1;
    }

    /**
     * Adds an arc and its reverse. The reverse of an arc has the arc's number with the lowest bit inverted, and starts
     * with width 0.
     */
    void addArc(int from, int to, double gbps) {
        arcsOf.get(from).add(target.size());
        target.add(to);
        width.add(gbps);
        arcsOf.get(to).add(target.size());
        target.add(from);
        width.add(0.0);
    }

    /** Returns the largest flow, or infinity if the steps do not suffice to compute it. */
    double largest(int from, int to, StepBudget budget) {
        return largestWithout(-1, from, to, budget);
    }

    /**
     * Returns the largest flow that does not pass through node {@code closed}, or infinity if the steps do not suffice.
     */
    double largestWithout(int closed, int from, int to, StepBudget budget) {
        double[] left = new double[width.size()];
        double widest = 0;
        for (int arc = 0; arc < left.length; arc++) {
            left[arc] = width.get(arc);
            widest = Math.max(widest, left[arc]);
        }
        double nothing = NOTHING * widest;
        int[] by = new int[arcsOf.size()];
        double flow = 0;
        while (true) {
            if (!budget.take(left.length)) {
                return Double.POSITIVE_INFINITY;
            }
            if (!reaches(from, to, closed, left, nothing, by)) {
                return flow;
            }
            double min = Double.POSITIVE_INFINITY;
            for (int at = to; at != from; at = target.get(by[at] ^ 1)) {
                min = Math.min(min, left[by[at]]);
            }
            for (int at = to; at != from; at = target.get(by[at] ^ 1)) {
                left[by[at]] -= min;
                left[by[at] ^ 1] += min;
            }
            flow += min;
        }
    }

    private boolean reaches(int from, int to, int closed, double[] left, double nothing, int[] by) {
        Arrays.fill(by, -1);
        Deque<Integer> queue = new ArrayDeque<>(List.of(from));
        while (!queue.isEmpty()) {
            int node = queue.remove();
            for (int arc : arcsOf.get(node)) {
                int next = target.get(arc);
                if (next != from && next != closed && by[next] < 0 && left[arc] > nothing) {
                    by[next] = arc;
                    if (next == to) {
                        return true;
                    }
                    queue.add(next);
                }
            }
        }
        return false;
    }
}
