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
    private final List<MachineChannels> found = new ArrayList<>();
    private final int[] machineOfRank;

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
        machines.forEach(machine -> found.add(MachineChannels.agree(machine, byRank)));
        Alignment alignment = Alignment.of(found, options);
        int distinct = alignment.rings().channels();
        int[][] ringChoice = chooseRings(distinct);
        int[][] treeChoice = chooseTrees(distinct);
        int[][] rings = new int[alignment.channels()][];
        TreeOfRanks[] trees = new TreeOfRanks[alignment.channels()];
        DoubleBinaryTree shape = new DoubleBinaryTree(machines.size());
        for (int channel = 0; channel < alignment.channels(); channel++) {
            rings[channel] = ring(ringChoice, channel % distinct);
            int tree = Plan.treeOfChannel(channel, machines.size());
            trees[channel] = tree(shape, channel % 2, treeChoice, tree % distinct);
        }
        return new Plan(found, machineOfRank, alignment, ringChoice, treeChoice, rings, trees);
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

    /** A ring comes into a machine by the rail on which it left the one before; machines that cross rails so alternate. */
    private int[][] chooseRings(int distinct) {
        int[][] chosen = new int[machines.size()][];
        int[] outs = null;
        for (int machine = 0; machine < chosen.length; machine++) {
            RailMatcher matcher = new RailMatcher(found.get(machine).rings(), distinct);
            chosen[machine] = outs == null ? matcher.inOrder() : matcher.matching(outs);
            outs = matcher.outs(chosen[machine]);
        }
        return chosen;
    }

    /** Any two machines may be neighbours in a tree, so all of them follow the rails of the first. */
    private int[][] chooseTrees(int distinct) {
        int[][] chosen = new int[machines.size()][];
        int[] rails = null;
        for (int machine = 0; machine < chosen.length; machine++) {
            RailMatcher matcher = new RailMatcher(found.get(machine).trees(), distinct);
            chosen[machine] = rails == null ? matcher.inOrder() : matcher.matching(rails);
            rails = rails == null ? matcher.ins(chosen[machine]) : rails;
        }
        return chosen;
    }

    private int[] ring(int[][] choice, int distinct) {
        int[] ring = new int[byRank.length];
        int at = 0;
        for (MachineChannels machine : found) {
            for (int rank : order(machine, machine.rings(), choice, distinct)) {
                ring[at++] = rank;
            }
        }
        return ring;
    }

    /** Edges between machines come first, so that the data that has far to go is the first to be passed on. */
    private TreeOfRanks tree(DoubleBinaryTree shape, int which, int[][] choice, int distinct) {
        TreeOfRanks tree = new TreeOfRanks(byRank.length);
        for (MachineChannels machine : found) {
            List<Integer> chain = chain(machine, choice, distinct);
            for (int child = 0; child < 2; child++) {
                int below = shape.child(which, machine.machine().index(), child);
                if (below != DoubleBinaryTree.NONE) {
                    int place = machine.treeShape().childPlace(child, chain.size());
                    tree.connect(
                            chain.get(place),
                            chain(found.get(below), choice, distinct).get(0));
                }
            }
        }
        for (MachineChannels machine : found) {
            List<Integer> chain = chain(machine, choice, distinct);
            for (int place = 1; place < chain.size(); place++) {
                tree.connect(chain.get(place - 1), chain.get(place));
            }
        }
        return tree;
    }

    private static List<Integer> chain(MachineChannels machine, int[][] choice, int distinct) {
        return order(machine, machine.trees(), choice, distinct);
    }

    private static List<Integer> order(MachineChannels machine, FoundChannels channels, int[][] choice, int distinct) {
        return channels.orders().isEmpty()
                ? machine.machine().ranks()
                : channels.orders().get(choice[machine.machine().index()][distinct]);
    }
}
