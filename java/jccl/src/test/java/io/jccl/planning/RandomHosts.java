package io.jccl.planning;

import io.jccl.search.ChannelGraph;
import io.jccl.search.Pattern;
import io.jccl.search.Rail;
import io.jccl.topology.PathType;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** Draws sets of hosts that differ as much as hosts of one cluster can. */
final class RandomHosts {

    private static final List<Pattern> TREES = List.of(Pattern.TREE, Pattern.SPLIT_TREE, Pattern.BALANCED_TREE);

    private final Random random;
    private final int hosts;

    RandomHosts(Random random, int hosts) {
        this.random = random;
        this.hosts = hosts;
    }

    /** Draws the channels of all ranks, in rank order. The ranks of a host need not be neighbours. */
    List<RankChannels> ranks() {
        List<Integer> hostOf = new ArrayList<>();
        for (int host = 0; host < hosts; host++) {
            int members = random.nextInt(5) == 0 ? 1 : 1 + random.nextInt(16);
            hostOf.addAll(Collections.nCopies(members, host));
        }
        if (random.nextBoolean()) {
            Collections.shuffle(hostOf, random);
        }
        RankChannels[] ranks = new RankChannels[hostOf.size()];
        int gpuHosts = random.nextInt(3);
        for (int host = 0; host < hosts; host++) {
            List<Integer> members = new ArrayList<>();
            for (int rank = 0; rank < ranks.length; rank++) {
                if (hostOf.get(rank) == host) {
                    members.add(rank);
                }
            }
            boolean gpu = gpuHosts == 0 || gpuHosts == 1 && random.nextBoolean();
            host("host-" + host, gpu, members, ranks);
        }
        return new ArrayList<>(List.of(ranks));
    }

    private void host(String host, boolean gpu, List<Integer> members, RankChannels[] ranks) {
        ChannelGraph rings = found(members, random.nextInt(gpu ? 33 : 5));
        ChannelGraph trees = found(members, random.nextInt(4) == 0 ? 0 : random.nextInt(gpu ? 33 : 5));
        Pattern shape = TREES.get(random.nextInt(TREES.size()));
        boolean agree = random.nextInt(4) > 0;
        for (int rank : members) {
            ranks[rank] = new RankChannels(rank, host, gpu, rings, Found.trees(shape, trees));
            if (!agree) {
                rings = found(members, random.nextInt(8));
                trees = found(members, random.nextInt(8));
            }
        }
    }

    private ChannelGraph found(List<Integer> members, int channels) {
        List<List<Integer>> orders = new ArrayList<>();
        List<Rail> rails = new ArrayList<>();
        int nets = random.nextInt(10);
        for (int channel = 0; channel < channels; channel++) {
            List<Integer> order = new ArrayList<>(members);
            Collections.shuffle(order, random);
            orders.add(order);
            if (nets > 0) {
                rails.add(new Rail(random.nextInt(nets), random.nextInt(nets)));
            }
        }
        return Found.rings(
                0.1 + 50 * random.nextDouble(),
                0.1 + 50 * random.nextDouble(),
                PathType.values()[random.nextInt(10)],
                PathType.values()[random.nextInt(10)],
                random.nextBoolean(),
                orders,
                rails);
    }
}
