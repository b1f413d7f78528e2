package io.jccl.topology;

/**
 * The best paths between all nodes where ranks live, all networks and all CPUs of a host. Immutable.
 */
public final class NodePaths {

    private final PathMatrix paths;
    private final PathPolicy policy;

    private NodePaths(PathMatrix paths, PathPolicy policy) {
        this.paths = paths;
        this.policy = policy;
    }

    /** Finds all paths where nothing is set. */
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

    /** The topology whose paths these are. */
    public Topology topology() {
        return paths.topology();
    }

    /** What these paths were allowed to use. */
    public PathPolicy policy() {
        return policy;
    }

    /** The path between two GPU, HOST, NET or CPU nodes, given by index; of type DIS where there is none. */
    public NodePath path(int from, int to) {
        return paths.get(from, to);
    }

    /** Whether two GPU nodes, given by index, use each other's memory. */
    public boolean peerToPeer(int gpu, int other) {
        NodePath path = path(gpu, other);
        return path.type().compareTo(PeerPaths.level(topology(), policy)) <= 0 && PeerPaths.mayUse(path, topology());
    }

    /**
     * Whether a network device uses GPU memory itself: that of the GPU, or of the GPU through which this one sends.
     *
     * @param gpu index of a GPU node
     * @param net index of a NET node
     * @param reading whether to send from this memory, not to receive into it
     */
    public boolean gpuDirect(int gpu, int net, boolean reading) {
        return new NetworkPaths(paths, policy).gpuDirect(gpu, net, reading);
    }

    /** The GPU node through which a GPU node sends to a network device (PXN), all by index; -1 where it sends itself. */
    public int forwarder(int gpu, int net) {
        return NetworkPaths.forwarder(paths, gpu, net);
    }

    /** The network device that a GPU, given by index, does best to use for a channel; -1 where it reaches none. */
    public int networkOf(int gpu, int channel) {
        return new LocalDevices(paths).netOf(gpu, channel);
    }

    /** The node of one type that is best reached from a node: nearest type, then widest, then lowest index; or -1. */
    public int nearest(int from, NodeType type) {
        int best = -1;
        for (int node : topology().indexesOf(type)) {
            if (path(from, node).exists() && (best < 0 || closer(path(from, node), path(from, best)))) {
                best = node;
            }
        }
        return best;
    }

    /** Whether one path is better than another: nearer, then wider, then shorter. */
    public static boolean closer(NodePath one, NodePath other) {
        int byType = one.type().compareTo(other.type());
        if (byType != 0) {
            return byType < 0;
        }
        int byWidth = Double.compare(one.bandwidthGBps(), other.bandwidthGBps());
        return byWidth != 0 ? byWidth > 0 : one.hops() < other.hops();
    }
}
