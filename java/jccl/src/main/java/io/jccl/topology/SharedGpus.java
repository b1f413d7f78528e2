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
 * Groups the ranks that share a GPU. A channel visits them one after the other, so that it enters each GPU once and
 * leaves it once. The search uses one rank per GPU, the lowest; then the others are inserted into its channels.
 */
public final class SharedGpus {

    private final Topology distinct;
    /** For each rank, all ranks on its GPU in ascending order. */
    private final Map<Integer, List<Integer>> ranksOnGpuOf = new HashMap<>();

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
                ranksOnGpuOf.put(rank, List.copyOf(ranks));
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

    /** Returns the shared GPUs of a host. */
    public static SharedGpus of(Topology topology) {
        return new SharedGpus(topology);
    }

    /** Returns true if at least two ranks share a GPU. */
    public boolean any() {
        return !shared.isEmpty();
    }

    /** Returns the host with only the lowest rank of each GPU; the unchanged host if no ranks share a GPU. */
    public Topology distinct() {
        return distinct;
    }

    /** Returns the ranks of each shared GPU in ascending order, by the GPU's bus id. */
    public Map<String, List<Integer>> ranks() {
        return Collections.unmodifiableMap(shared);
    }

    /** Returns true if this rank shares its GPU with other ranks. */
    public boolean shares(int rank) {
        return ranksOn(rank).size() > 1;
    }

    /** Returns all ranks on the GPU of a rank, including the rank itself. */
    private List<Integer> ranksOn(int rank) {
        return ranksOnGpuOf.getOrDefault(rank, List.of(rank));
    }

    /**
     * Returns the limit, in GB/s, that the memory of shared GPUs sets to all channels of a graph together; infinite if
     * no ranks share a GPU. On a GPU with n ranks, each channel copies data n - 1 times inside the GPU's memory.
     *
     * @param closed whether the last rank of a channel sends to the first; if the host has only one GPU, this is one
     *     more copy
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
     * Inserts the omitted ranks into orders of the ranks in {@link #distinct}: the ranks of a GPU follow one another.
     *
     * @param inPairs whether every second order is the reverse of the one before it; then the result has this property
     *     too
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
