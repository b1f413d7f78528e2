package io.jccl.topology;

import java.util.Optional;

/** The best paths between all endpoints of ranks, networks and CPUs of a host. Immutable. */
public final class NodePaths {

    private final PathMatrix paths;
    private final PathMatrix direct; // the paths before the policy and neighbours changed them
    private final PathPolicy policy;

    private NodePaths(PathMatrix paths, PathPolicy policy) {
        this.paths = paths;
        this.direct = new PathMatrix(paths.topology());
        this.policy = policy;
    }

    /** Finds all paths with the default policy. */
    public static NodePaths compute(Topology topology) {
        return compute(topology, PathPolicy.defaults());
    }

    /** Finds all paths that a policy allows. */
    public static NodePaths compute(Topology topology, PathPolicy policy) {
        PathMatrix paths = new PathMatrix(topology);
        if (policy.nvLinkNeighbours()) {
            NeighbourPaths.add(paths);
        }
        PeerPaths.apply(paths, policy);
        new NetworkPaths(paths, policy).apply();
        return new NodePaths(paths, policy);
    }

    /** Returns the topology that contains the paths. */
    public Topology topology() {
        return paths.topology();
    }

    /** Returns the policy with which the paths were found. */
    public PathPolicy policy() {
        return policy;
    }

    /** Returns the path between two GPU, HOST, NET or CPU nodes, given by index; its type is DIS if there is none. */
    public NodePath path(int from, int to) {
        return paths.get(from, to);
    }

    /** Returns true if two GPU nodes, given by index, use each other's memory. */
    public boolean peerToPeer(int gpu, int other) {
        return apart(gpu, other).isEmpty();
    }

    /**
     * Returns why two GPU nodes, given by index, do not use each other's memory; empty if they do. Such GPUs exchange
     * data through host memory.
     */
    public Optional<String> apart(int gpu, int other) {
        return gpu == other ? Optional.empty() : PeerPaths.apart(direct, gpu, other, policy);
    }

    /**
     * Returns true if a network device accesses GPU memory directly: the memory of the GPU, or of the GPU through which
     * it sends.
     *
     * @param gpu index of a GPU node
     * @param net index of a NET node
     * @param reading true for sending from this memory, false for receiving into it
     */
    public boolean gpuDirect(int gpu, int net, boolean reading) {
        return new NetworkPaths(paths, policy).gpuDirect(gpu, net, reading);
    }

    /**
     * Returns the GPU node through which a GPU node sends to a network device (PXN), or -1 if it sends directly. All
     * nodes are given by index.
     */
    public int forwarder(int gpu, int net) {
        return NetworkPaths.forwarder(paths, gpu, net);
    }

    /**
     * Returns the network device that a GPU should use for a channel, or -1 if it reaches none. Both are given by
     * index.
     */
    public int networkOf(int gpu, int channel) {
        return new LocalDevices(paths).netOf(gpu, channel);
    }

    /**
     * Returns the best reached node of one type, or -1 if there is none: the nearest, then the widest path, then the
     * lowest index.
     */
    public int nearest(int from, NodeType type) {
        int best = -1;
        for (int node : topology().indexesOf(type)) {
            if (path(from, node).exists() && (best < 0 || closer(path(from, node), path(from, best)))) {
                best = node;
            }
        }
        return best;
    }

    /**
     * Returns true if one path is better than another: nearer, or as near and wider, or as near and wide and shorter.
     */
    public static boolean closer(NodePath one, NodePath other) {
        int byType = one.type().compareTo(other.type());
        if (byType != 0) {
            return byType < 0;
        }
        int byWidth = Double.compare(one.bandwidthGBps(), other.bandwidthGBps());
        return byWidth != 0 ? byWidth > 0 : one.hops() < other.hops();
    }
}
