package io.jccl.plan;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Joins the channels of all machines. One builder builds one plan. */
final class PlanBuilder {

    private final PlanOptions options;
    private final RankChannels[] byRank;
    private final List<Machine> machines = new ArrayList<>();
    private final int[] machineOfRank;
    /** Per machine and channel found there: the ranks in ring order, and in chain order. */
    private final List<int[][]> ringOrders = new ArrayList<>();

    private final List<int[][]> treeOrders = new ArrayList<>();

    PlanBuilder(List<RankChannels> ranks, PlanOptions options) {
        if (ranks.isEmpty()) {
            throw new IllegalArgumentException("ranks=[]: a plan needs at least one rank");
        }
        this.options = options;
        this.byRank = new RankChannels[ranks.size()];
        this.machineOfRank = new int[ranks.size()];
        for (RankChannels rank : ranks) {
            if (rank.rank() >= byRank.length) {
                throw new IllegalArgumentException("rank=" + rank.rank() + ": expected 0 to " + (byRank.length - 1)
                        + ", because " + byRank.length + " ranks were given");
            }
            if (byRank[rank.rank()] != null) {
                throw new IllegalArgumentException("rank=" + rank.rank() + ": given twice; every rank gives one entry");
            }
            byRank[rank.rank()] = rank;
        }
    }

    Plan build() {
        groupByMachine();
        for (Machine machine : machines) {
            RankChannels first = byRank[machine.ranks().get(0)];
            int[][] rings = orders(machine, first.ringOrders(), "ring");
            ringOrders.add(rings);
            treeOrders.add(first.treeOrders().isEmpty() ? rings : orders(machine, first.treeOrders(), "tree"));
        }
        int channels = channelCount();
        int[][] rings = new int[channels][];
        TreeOfRanks[] trees = new TreeOfRanks[channels];
        DoubleBinaryTree shape = new DoubleBinaryTree(machines.size());
        for (int channel = 0; channel < channels; channel++) {
            int found = machines.size() > 1 ? channel / 2 : channel;
            rings[channel] = ring(found);
            trees[channel] = tree(shape, channel % 2, found);
        }
        return new Plan(machines, machineOfRank, rings, trees);
    }

    private void groupByMachine() {
        Map<String, List<Integer>> ranksOfHost = new LinkedHashMap<>();
        for (RankChannels rank : byRank) {
            ranksOfHost
                    .computeIfAbsent(rank.hostId(), host -> new ArrayList<>())
                    .add(rank.rank());
        }
        ranksOfHost.forEach((host, members) -> {
            for (int rank : members) {
                machineOfRank[rank] = machines.size();
            }
            machines.add(new Machine(machines.size(), host, members));
        });
    }

    private static int[][] orders(Machine machine, List<List<Integer>> found, String kind) {
        if (found.isEmpty()) {
            return new int[][] {toArray(machine.ranks())};
        }
        int[][] orders = new int[found.size()][];
        for (int channel = 0; channel < orders.length; channel++) {
            List<Integer> order = found.get(channel);
            if (!order.stream().sorted().toList().equals(machine.ranks())) {
                throw new IllegalArgumentException(kind + " order=" + order + " of channel=" + channel + " on host="
                        + machine.hostId() + ": expected a permutation of its ranks " + machine.ranks());
            }
            orders[channel] = toArray(order);
        }
        return orders;
    }

    /** What the machine with the fewest channels can carry, twice that between machines, then the bounds. */
    private int channelCount() {
        int found = ringOrders.stream().mapToInt(orders -> orders.length).min().orElseThrow();
        int channels = machines.size() > 1 ? 2 * found : found;
        return Math.min(options.maxChannels(), Math.max(options.minChannels(), channels));
    }

    private int[] ring(int found) {
        int[] ring = new int[byRank.length];
        int at = 0;
        for (int[][] orders : ringOrders) {
            int[] order = orders[found % orders.length];
            System.arraycopy(order, 0, ring, at, order.length);
            at += order.length;
        }
        return ring;
    }

    /** Edges between machines come first, so that the data that has far to go is the first to be passed on. */
    private TreeOfRanks tree(DoubleBinaryTree shape, int which, int found) {
        TreeOfRanks tree = new TreeOfRanks(byRank.length);
        for (Machine machine : machines) {
            int[] chain = chain(machine.index(), found);
            for (int child = 0; child < 2; child++) {
                int below = shape.child(which, machine.index(), child);
                if (below != DoubleBinaryTree.NONE) {
                    int place = options.treeShape().childPlace(child, chain.length);
                    tree.connect(chain[place], chain(below, found)[0]);
                }
            }
        }
        for (Machine machine : machines) {
            int[] chain = chain(machine.index(), found);
            for (int place = 1; place < chain.length; place++) {
                tree.connect(chain[place - 1], chain[place]);
            }
        }
        return tree;
    }

    private int[] chain(int machine, int found) {
        int[][] orders = treeOrders.get(machine);
        return orders[found % orders.length];
    }

    private static int[] toArray(List<Integer> ranks) {
        return ranks.stream().mapToInt(Integer::intValue).toArray();
    }
}
