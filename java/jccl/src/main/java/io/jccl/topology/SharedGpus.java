package io.jccl.topology;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * Ranks that share a GPU. A channel visits them one after the other, so that it comes to each GPU once and leaves it once, and
 * the first of them stands for all: channels are searched over GPUs, and then lead through all ranks.
 */
public final class SharedGpus {

    private final Topology distinct;
    /** All ranks of a GPU in ascending order, by each of them. */
    private final Map<Integer, List<Integer>> ranksBesides = new HashMap<>();

    private final Map<String, List<Integer>> shared = new TreeMap<>();
    private final Map<String, Integer> capabilities = new HashMap<>();
    private final int endpoints;

    private SharedGpus(Topology topology) {
        Map<String, List<Integer>> ranksOfGpu = new TreeMap<>();
        for (Node node : topology.nodes()) {
            if (node instanceof Node.Gpu gpu && gpu.rank() >= 0) {
                String busId = gpu.busId().toLowerCase(Locale.ROOT);
                ranksOfGpu.computeIfAbsent(busId, key -> new ArrayList<>()).add(gpu.rank());
                capabilities.put(busId, Math.max(gpu.sm(), capabilities.getOrDefault(busId, gpu.sm())));
            }
        }
        for (Map.Entry<String, List<Integer>> gpu : ranksOfGpu.entrySet()) {
            List<Integer> ranks = gpu.getValue();
            Collections.sort(ranks);
            for (int rank : ranks) {
                ranksBesides.put(rank, List.copyOf(ranks));
            }
            if (ranks.size() > 1) {
                shared.put(gpu.getKey(), List.copyOf(ranks));
            }
        }
        boolean[] keep = new boolean[topology.size()];
        Arrays.fill(keep, true);
        for (int node : topology.indexesOf(NodeType.GPU)) {
            int rank = Topology.rankOf(topology.node(node));
            keep[node] = rank < 0 || ranksOn(rank).get(0) == rank;
        }
        this.distinct = shared.isEmpty() ? topology : topology.keep(keep);
        this.endpoints = distinct.endpoints().size();
    }

    /** Those of a host. */
    public static SharedGpus of(Topology topology) {
        return new SharedGpus(topology);
    }

    /** Whether any ranks share a GPU. */
    public boolean any() {
        return !shared.isEmpty();
    }

    /** The host with one rank, the lowest, on each GPU; the host itself where no ranks share. */
    public Topology distinct() {
        return distinct;
    }

    /** The ranks of each GPU that has several, in ascending order, by the GPU's bus id. */
    public Map<String, List<Integer>> ranks() {
        return Collections.unmodifiableMap(shared);
    }

    /** Whether other ranks follow this one on its GPU. */
    public boolean shares(int rank) {
        return ranksOn(rank).size() > 1;
    }

    /** All ranks on the GPU of this one, itself too. */
    private List<Integer> ranksOn(int rank) {
        return ranksBesides.getOrDefault(rank, List.of(rank));
    }

    /**
     * What the memory of the GPUs leaves to all channels of a graph together, in GB/s: on a GPU of n ranks each
     * forwards data n - 1 times inside that memory. Infinite where no ranks share.
     *
     * @param closed whether the last rank of a channel sends to the first; on the same GPU, if it is the only one
     */
    public double maxGBps(boolean closed) {
        int around = closed && endpoints == 1 ? 1 : 0;
        double max = Double.POSITIVE_INFINITY;
        for (Map.Entry<String, List<Integer>> gpu : shared.entrySet()) {
            double memory = LinkSpeeds.deviceMemory(capabilities.get(gpu.getKey()));
            max = Math.min(max, memory / (gpu.getValue().size() - 1 + around));
        }
        return max;
    }

    /**
     * The orders of all ranks that orders of those in {@link #distinct} mean: the ranks of a GPU follow one another.
     *
     * @param inPairs whether every second order is the one before it backwards, and is to stay so
     */
    public List<List<Integer>> expand(List<List<Integer>> orders, boolean inPairs) {
        List<List<Integer>> expanded = new ArrayList<>();
        for (int channel = 0; channel < orders.size(); channel++) {
            boolean backwards = inPairs && channel % 2 == 1;
            List<Integer> order = new ArrayList<>();
            for (int rank : orders.get(channel)) {
                List<Integer> ranks = new ArrayList<>(ranksOn(rank));
                if (backwards) {
                    Collections.reverse(ranks);
                }
                order.addAll(ranks);
            }
            expanded.add(order);
        }
        return expanded;
    }
}
