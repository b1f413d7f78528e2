package io.jccl.search;

import java.util.Arrays;

/**
 * An order of ranks that is improved by reversing segments and moving short ones while that helps. The order is stored
 * as a cycle. If the last rank sends to other hosts, an element for these, the outside, is between the last rank and
 * the first.
 */
final class Tour {

    private static final int LONGEST_MOVE = 3;
    private static final double BETTER = 1e-9;

    private final Costs costs;
    private final int entry;
    /** The cycle. Its first element never moves: it is the outside, or the first rank of a closed ring. */
    private int[] cycle;

    private double total;
    private final int outside;
    private final boolean secondMatters;

    Tour(Costs costs, int entry, int[] order) {
        this.costs = costs;
        this.entry = entry;
        boolean anySecond = false;
        for (double cost : costs.second[entry]) {
            anySecond |= cost > 0;
        }
        this.secondMatters = anySecond;
        this.outside = costs.closed ? -1 : costs.ranks;
        this.cycle = costs.closed ? order.clone() : new int[order.length + 1];
        if (!costs.closed) {
            cycle[0] = outside;
            System.arraycopy(order, 0, cycle, 1, order.length);
        }
        this.total = costs.total(order, entry);
    }

    int[] order() {
        return costs.closed ? cycle.clone() : Arrays.copyOfRange(cycle, 1, cycle.length);
    }

    double total() {
        return total;
    }

    /** Improves the order until no change helps or the steps are spent. */
    void improve(StepBudget budget) {
        // If the cost of the second rank matters, a change that begins at the first two places is always evaluated as a
        // whole.
        int whole = secondMatters ? (LONGEST_MOVE + 1) * cycle.length : 0;
        boolean improved = true;
        while (improved) {
            improved = false;
            for (int from = 1; from < cycle.length; from++) {
                for (int to = 0; to < cycle.length; to++) {
                    if (!budget.take(
                            LONGEST_MOVE + Math.max(1, to - from) + (Math.min(from, to + 1) <= 2 ? whole : 0))) {
                        return;
                    }
                    improved |= reverse(from, to) || move(from, to);
                }
            }
        }
    }

    private boolean reverse(int from, int to) {
        if (from >= to) {
            return false;
        }
        double change = cost(cycle[from - 1], cycle[to]) + cost(cycle[from], after(to));
        change -= cost(cycle[from - 1], cycle[from]) + cost(cycle[to], after(to));
        for (int place = from; place < to; place++) {
            change += cost(cycle[place + 1], cycle[place]) - cost(cycle[place], cycle[place + 1]);
        }
        if (!promises(change, from)) {
            return false;
        }
        int[] reversed = cycle.clone();
        for (int low = from, high = to; low < high; low++, high--) {
            reversed[low] = cycle[high];
            reversed[high] = cycle[low];
        }
        return take(reversed);
    }

    /**
     * Moves one to three ranks, beginning at place {@code from}, so that they follow the rank at place {@code behind}.
     */
    private boolean move(int from, int behind) {
        for (int length = 1; length <= LONGEST_MOVE && from + length <= cycle.length; length++) {
            int end = from + length - 1;
            if (behind >= from - 1 && behind <= end) {
                continue;
            }
            double change = cost(cycle[from - 1], after(end))
                    + cost(cycle[behind], cycle[from])
                    + cost(cycle[end], after(behind));
            change -= cost(cycle[from - 1], cycle[from])
                    + cost(cycle[end], after(end))
                    + cost(cycle[behind], after(behind));
            if (promises(change, Math.min(from, behind + 1)) && take(moved(from, length, behind))) {
                return true;
            }
        }
        return false;
    }

    private int[] moved(int from, int length, int behind) {
        int[] moved = cycle.clone();
        if (behind < from) {
            System.arraycopy(cycle, from, moved, behind + 1, length);
            System.arraycopy(cycle, behind + 1, moved, behind + 1 + length, from - behind - 1);
        } else {
            System.arraycopy(cycle, from + length, moved, from, behind - from - length + 1);
            System.arraycopy(cycle, from, moved, behind - length + 1, length);
        }
        return moved;
    }

    /**
     * Returns true if a change deserves a full evaluation; {@code change} does not include the cost of the second rank.
     */
    private boolean promises(double change, int firstPlace) {
        return change < -BETTER * total || firstPlace <= 2 && secondMatters;
    }

    private boolean take(int[] candidate) {
        int[] before = cycle;
        cycle = candidate;
        double now = costs.total(order(), entry);
        if (now < total - BETTER * total) {
            total = now;
            return true;
        }
        cycle = before;
        return false;
    }

    private int after(int place) {
        return cycle[place + 1 == cycle.length ? 0 : place + 1];
    }

    private double cost(int from, int to) {
        if (from == outside) {
            return costs.first[entry][to];
        }
        return to == outside ? costs.last[entry][from] : costs.edge(from, to);
    }
}
