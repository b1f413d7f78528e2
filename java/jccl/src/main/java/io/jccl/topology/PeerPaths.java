package io.jccl.topology;

import io.jccl.config.TransportSettings;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Decides which GPUs use each other's memory. Other GPUs exchange data through the memory of a CPU or over the network.
 */
final class PeerPaths {

    /**
     * Default farthest path type for peer-to-peer access. Across a CPU, the root complexes of most hosts refuse such
     * access, or make it slower than a copy through host memory.
     */
    private static final PathType FARTHEST = PathType.PXB;

    /**
     * Largest number of GPUs on a host with AMD CPUs for which peer-to-peer access was found faster at any distance.
     */
    private static final int GPUS_OF_A_PAIR = 2;

    private PeerPaths() {}

    /** Changes the paths between GPUs to those that the policy and the host allow. */
    static void apply(PathMatrix paths, PathPolicy policy) {
        Topology topology = paths.topology();
        PathType level = level(topology, policy);
        List<Integer> gpus = topology.indexesOf(NodeType.GPU);
        for (int to : gpus) {
            int cpu = paths.nearestCpu(to);
            for (int from : gpus) {
                boolean barred = !mayUse(paths.get(from, to), topology);
                boolean far = paths.get(from, to).type().compareTo(level) > 0 || !policy.peers() && from != to;
                if (barred || far) {
                    divert(paths, from, cpu, to, barred);
                }
            }
        }
        preferNetwork(paths, gpus);
        separate(paths, policy.reach());
    }

    /**
     * Changes a path so that it leads through a CPU. If that is impossible and the GPUs are barred from each other,
     * they get no path.
     */
    private static void divert(PathMatrix paths, int from, int cpu, int to, boolean barred) {
        if (cpu >= 0 && paths.get(from, cpu).exists() && paths.get(cpu, to).exists()) {
            paths.divert(from, cpu, to);
        } else if (barred) {
            paths.set(NodePath.none(from, to));
        }
    }

    /**
     * Returns true if the GPUs at the ends of a path can use each other's memory, or the memory of the GPU between
     * them.
     */
    static boolean mayUse(NodePath path, Topology topology) {
        return path.type() == PathType.NVB || !topology.barred(path.from(), path.to());
    }

    /**
     * Returns why two different GPU nodes do not use each other's memory; empty if they do. The direct path between
     * them decides: kernels reach a peer's memory by it, also if a third GPU offers a wider path.
     *
     * @param direct the best paths that lead through no rank
     */
    static Optional<String> apart(PathMatrix direct, int gpu, int other, PathPolicy policy) {
        Topology topology = direct.topology();
        if (!policy.peers()) {
            return Optional.of("peer access is disabled");
        }
        if (topology.barred(gpu, other) || topology.barred(other, gpu)) {
            return Optional.of("NVML reports no peer access between the GPUs");
        }
        PathType type = direct.get(gpu, other).type().max(direct.get(other, gpu).type());
        PathType level = level(topology, policy);
        return type.compareTo(level) <= 0
                ? Optional.empty()
                : Optional.of("the path between the GPUs has type " + type + ", and peer access is used up to " + level
                        + " (" + TransportSettings.P2P_LEVEL.name() + ")");
    }

    /** Returns the farthest type at which two GPUs use each other's memory. */
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

    /** Changes a path's type to NET if both GPUs have a nearby card that carries more than the path between them. */
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
