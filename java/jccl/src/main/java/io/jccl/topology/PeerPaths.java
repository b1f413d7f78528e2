package io.jccl.topology;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Decides which GPUs use each other's memory; where they do not, their path leads through a CPU or is the network's.
 */
final class PeerPaths {

    /**
     * Beyond a CPU the root complexes of most hosts make peer-to-peer slower than a copy in host memory, or refuse it.
     */
    private static final PathType FARTHEST = PathType.PXB;

    /** On AMD, pairs were found to be faster peer to peer at any distance. */
    private static final int GPUS_OF_A_PAIR = 2;

    private PeerPaths() {}

    /** Changes the paths between GPUs to what the policy and the host allow. */
    static void apply(PathMatrix paths, PathPolicy policy) {
        Topology topology = paths.topology();
        PathType level = level(topology, policy);
        List<Integer> gpus = topology.indexesOf(NodeType.GPU);
        for (int to : gpus) {
            int cpu = paths.nearestCpu(to);
            for (int from : gpus) {
                boolean barred = !mayUse(paths.get(from, to), topology);
                if (barred || paths.get(from, to).type().compareTo(level) > 0) {
                    divert(paths, from, cpu, to, barred);
                }
            }
        }
        preferNetwork(paths, gpus);
        separate(paths, policy.reach());
    }

    /** What must not go from one GPU to the other and has no path through a CPU has none at all. */
    private static void divert(PathMatrix paths, int from, int cpu, int to, boolean barred) {
        if (cpu >= 0 && paths.get(from, cpu).exists() && paths.get(cpu, to).exists()) {
            paths.divert(from, cpu, to);
        } else if (barred) {
            paths.set(NodePath.none(from, to));
        }
    }

    /** Whether the GPUs at the ends of a path can use each other's memory, or that of the GPU between them. */
    static boolean mayUse(NodePath path, Topology topology) {
        return path.type() == PathType.NVB || !topology.barred(path.from(), path.to());
    }

    /** The farthest that two GPUs may be apart to use each other's memory. */
    static PathType level(Topology topology, PathPolicy policy) {
        if (policy.peerLevel().isPresent()) {
            return policy.peerLevel().get();
        }
        Set<String> gpus = new HashSet<>();
        for (int gpu : topology.indexesOf(NodeType.GPU)) {
            if (Topology.isGpuOfRank(topology.node(gpu))) {
                gpus.add(((Node.Gpu) topology.node(gpu)).busId());
            }
        }
        List<Integer> cpus = topology.indexesOf(NodeType.CPU);
        boolean onAmd = !cpus.isEmpty() && LinkSpeeds.isAmd(((Node.Cpu) topology.node(cpus.get(0))).model());
        return onAmd && gpus.size() <= GPUS_OF_A_PAIR ? PathType.SYS : FARTHEST;
    }

    /**
     * Two GPUs that each have a card nearby which carries more than the path between them do better over the network.
     */
    private static void preferNetwork(PathMatrix paths, List<Integer> gpus) {
        double[] speed = new double[paths.topology().size()];
        for (int gpu : gpus) {
            for (int net : paths.topology().indexesOf(NodeType.NET)) {
                NodePath path = paths.get(gpu, net);
                if (path.type().compareTo(PathType.PXB) <= 0) {
                    speed[gpu] = Math.max(speed[gpu], path.bandwidthGBps());
                }
            }
        }
        for (int from : gpus) {
            for (int to : gpus) {
                NodePath path = paths.get(from, to);
                if (path.exists() && Math.min(speed[from], speed[to]) > path.bandwidthGBps()) {
                    paths.retype(path, PathType.NET);
                }
            }
        }
    }

    private static void separate(PathMatrix paths, PeerReach reach) {
        Topology topology = paths.topology();
        if (reach == PeerReach.ALL) {
            return;
        }
        for (int from : topology.endpoints()) {
            for (int to : topology.endpoints()) {
                if (from != to && !reach.reaches(rank(topology, from), rank(topology, to))) {
                    paths.set(NodePath.none(from, to));
                }
            }
        }
    }

    private static int rank(Topology topology, int node) {
        return Topology.rankOf(topology.node(node));
    }
}
