package io.jccl.search;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Finds routes through so many ranks that not all orders can be tried. Begins with an order in which each rank is
 * followed by the cheapest unvisited one. Then moves and reverses segments while that helps. Stateless.
 */
final class LocalRoutes implements RouteFinder {

    /** Number of entries to try, the cheapest first. */
    private static final int ENTRIES = 2;

    private static final double BETTER = 1e-9;

    static long stepsOfFirst(int ranks, int entries) {
        return (long) ranks * ranks * ENTRIES + (long) ranks * entries;
    }

    @Override
    public Route cheapest(Costs costs, Route start, StepBudget budget) {
        int ranks = costs.ranks;
        int[] entries = IntStream.range(0, costs.entries)
                .boxed()
                .sorted(Comparator.comparingDouble(costs::minEnds))
                .limit(ENTRIES)
                .mapToInt(Integer::intValue)
                .toArray();
        Route found = null;
        double min = Costs.IMPOSSIBLE;
        for (int entry : entries) {
            List<int[]> seeds = new ArrayList<>();
            if (budget.take((long) ranks * ranks)) {
                seeds.add(nearest(costs, entry));
            }
            if (start != null) {
                seeds.add(start.order());
            }
            for (int[] seed : seeds) {
                Tour tour = new Tour(costs, entry, seed);
                tour.improve(budget);
                if (tour.total() < min * (1 - BETTER)) {
                    min = tour.total();
                    found = costs.route(tour.order(), entry);
                }
            }
        }
        return found;
    }

    private static int[] nearest(Costs costs, int entry) {
        int ranks = costs.ranks;
        int[] order = new int[ranks];
        boolean[] visited = new boolean[ranks];
        for (int place = 0; place < ranks; place++) {
            int best = -1;
            double min = Double.POSITIVE_INFINITY;
            for (int rank = 0; rank < ranks; rank++) {
                if (!visited[rank]) {
                    double cost = place == 0 ? costs.first[entry][rank] : costs.edge(order[place - 1], rank);
                    if (place == 1) {
                        cost += costs.second(entry, order[0], rank);
                    }
                    if (best < 0 || cost < min - BETTER * Math.abs(min)) {
                        best = rank;
                        min = cost;
                    }
                }
            }
            visited[best] = true;
            order[place] = best;
        }
        return order;
    }
}
