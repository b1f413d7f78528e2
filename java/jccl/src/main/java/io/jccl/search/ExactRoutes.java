package io.jccl.search;

import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * Finds the cheapest of all routes by dynamic programming over sets of visited ranks (Held and Karp). Of routes with
 * equal costs, it chooses one that keeps neighbours together and visits low ranks first. Not safe to share between
 * threads, because it reuses its table.
 */
final class ExactRoutes implements RouteFinder {

    /**
     * Relative difference below which costs are equal: sums of the same numbers in another order differ by rounding.
     */
    private static final double EQUAL = 1e-12;

    private final int ranks;
    private final int all;
    /** Cost of the remaining route, by visited set and last rank. */
    private final double[] rest;

    ExactRoutes(int ranks) {
        this.ranks = ranks;
        this.all = (1 << ranks) - 1;
        this.rest = new double[(all + 1) * ranks];
    }

    static long steps(int ranks) {
        return Math.max(1, ((long) ranks * ranks << ranks) / 4);
    }

    @Override
    public Route cheapest(Costs costs, Route start, StepBudget budget) {
        if (costs.entries == 1) {
            return budget.take(steps(ranks)) ? best(costs, 0, Costs.IMPOSSIBLE, null) : null;
        }
        if (!budget.take(steps(ranks))) {
            return null;
        }
        double minInside = minInside(costs);
        int[] entries = IntStream.range(0, costs.entries)
                .boxed()
                .sorted(Comparator.comparingDouble(costs::minEnds))
                .mapToInt(Integer::intValue)
                .toArray();
        Route found = null;
        double min = Costs.IMPOSSIBLE;
        for (int entry : entries) {
            if (costs.minEnds(entry) + minInside >= min * (1 - EQUAL) || !budget.take(steps(ranks))) {
                break;
            }
            Route route = best(costs, entry, min, found);
            if (route != found) {
                found = route;
                min = costs.total(route.order(), entry);
            }
        }
        return found;
    }

    private Route best(Costs costs, int entry, double min, Route otherwise) {
        fill(costs, costs.second[entry], costs.last[entry]);
        int from = -1;
        double total = min;
        for (int rank = 0; rank < (costs.closed ? 1 : ranks); rank++) {
            double candidate = costs.first[entry][rank] + rest[(1 << rank) * ranks + rank];
            if (ranks == 1) {
                candidate += costs.second(entry, rank, rank);
            }
            if (candidate < total - EQUAL * Math.abs(candidate)) {
                total = candidate;
                from = rank;
            }
        }
        return from < 0 ? otherwise : costs.route(follow(costs, costs.second[entry], from), entry);
    }

    private double minInside(Costs costs) {
        double[] free = new double[ranks];
        fill(costs, free, free);
        double min = Double.POSITIVE_INFINITY;
        for (int rank = 0; rank < ranks; rank++) {
            min = Math.min(min, rest[(1 << rank) * ranks + rank]);
        }
        return min;
    }

    private void fill(Costs costs, double[] second, double[] last) {
        double[] edge = costs.edge;
        for (int at = 0; at < ranks; at++) {
            rest[all * ranks + at] = costs.closed ? edge[at * ranks] : last[at];
        }
        for (int visited = all - 1; visited > 0; visited--) {
            if (costs.closed && (visited & 1) == 0) {
                continue;
            }
            boolean one = (visited & visited - 1) == 0 && !costs.bringsSecond[Integer.numberOfTrailingZeros(visited)];
            for (int set = visited; set != 0; set &= set - 1) {
                int at = Integer.numberOfTrailingZeros(set);
                double min = Double.POSITIVE_INFINITY;
                for (int open = all & ~visited; open != 0; open &= open - 1) {
                    int next = Integer.numberOfTrailingZeros(open);
                    double cost = edge[at * ranks + next] + rest[(visited | 1 << next) * ranks + next];
                    if (one) {
                        cost += second[next];
                    }
                    if (cost < min) {
                        min = cost;
                    }
                }
                rest[visited * ranks + at] = min;
            }
        }
    }

    /**
     * Returns the cheapest order from a rank on. Of next ranks with equal total costs, it takes the one with the lowest
     * cost of the next edge, so that neighbours stay together.
     */
    private int[] follow(Costs costs, double[] second, int from) {
        int[] order = new int[ranks];
        order[0] = from;
        int visited = 1 << from;
        for (int place = 1; place < ranks; place++) {
            int at = order[place - 1];
            double target = rest[visited * ranks + at];
            int best = -1;
            for (int next = 0; next < ranks; next++) {
                if ((visited & 1 << next) == 0) {
                    double cost = costs.edge(at, next)
                            + rest[(visited | 1 << next) * ranks + next]
                            + (place == 1 && !costs.bringsSecond[from] ? second[next] : 0);
                    boolean leads = cost <= target + EQUAL * Math.abs(target);
                    if (leads && (best < 0 || costs.edge(at, next) < costs.edge(at, best) * (1 - EQUAL))) {
                        best = next;
                    }
                }
            }
            order[place] = best;
            visited |= 1 << best;
        }
        return order;
    }
}
