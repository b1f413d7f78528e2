package io.jccl.plan;

import java.util.List;

/**
 * The channels of one machine after its ranks have agreed.
 *
 * @param machine which
 * @param gpu whether all its ranks are on GPUs
 * @param rings its rings
 * @param trees its trees
 * @param treeShape where its trees are attached to other machines
 */
record MachineChannels(Machine machine, boolean gpu, FoundChannels rings, FoundChannels trees, TreeShape treeShape) {

    /** The lowest rank's orders at the worst of all its ranks' bandwidths and types. */
    static MachineChannels agree(Machine machine, RankChannels[] byRank) {
        RankChannels lowest = byRank[machine.ranks().get(0)];
        FoundChannels rings = lowest.rings();
        FoundChannels trees = lowest.trees();
        boolean gpu = true;
        for (int rank : machine.ranks()) {
            rings = rings.worst(byRank[rank].rings());
            trees = trees.worst(byRank[rank].trees());
            gpu &= byRank[rank].gpu();
        }
        requirePermutations(machine, rings, "ring");
        requirePermutations(machine, trees, "tree");
        return new MachineChannels(
                machine, gpu, rings, trees.orders().isEmpty() ? ordersOf(rings, trees) : trees, lowest.treeShape());
    }

    private static FoundChannels ordersOf(FoundChannels rings, FoundChannels trees) {
        return new FoundChannels(
                trees.bwIntra(),
                trees.bwInter(),
                trees.typeIntra(),
                trees.typeInter(),
                trees.crossNic(),
                rings.orders(),
                rings.rails());
    }

    private static void requirePermutations(Machine machine, FoundChannels found, String kind) {
        for (int channel = 0; channel < found.orders().size(); channel++) {
            List<Integer> order = found.orders().get(channel);
            if (!order.stream().sorted().toList().equals(machine.ranks())) {
                throw new IllegalArgumentException(kind + " order=" + order + " of channel=" + channel + " on host="
                        + machine.hostId() + ": expected a permutation of its ranks " + machine.ranks());
            }
        }
    }
}
