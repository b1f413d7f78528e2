package io.jccl.topology;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Decides the paths between GPUs and networks: over a CPU's chip-to-chip link, through the GPU next to the card, or
 * through host memory if card and GPU cannot or should not use GPUDirect RDMA.
 */
final class NetworkPaths {

    /**
     * Default farthest path type for GPUDirect RDMA. Across a CPU, a card's accesses to GPU memory are slow on most
     * hosts, and fail on some.
     */
    private static final PathType FARTHEST_GDR = PathType.PXB;

    /**
     * Lowest compute capability (times ten) at which a card's reads of GPU memory do not suffer from other PCI traffic.
     */
    private static final int SM_GOOD_READS = 80;

    private final PathMatrix paths;
    private final Topology topology;
    private final PathPolicy policy;
    private final List<Integer> gpus;
    private final List<Integer> nets;

    NetworkPaths(PathMatrix paths, PathPolicy policy) {
        this.paths = paths;
        this.topology = paths.topology();
        this.policy = policy;
        this.gpus = topology.indexesOf(NodeType.GPU);
        this.nets = topology.indexesOf(NodeType.NET);
    }

    /** Changes the paths between GPUs and networks to those that the policy and the host allow. */
    void apply() {
        for (int gpu : gpus) {
            int cpu = paths.nearestCpu(gpu);
            for (int net : paths.locals(gpu, NodeType.NET)) {
                retypeChipLink(gpu, cpu, net);
            }
        }
        if (policy.networkNeighbours()) {
            LocalDevices locals = new LocalDevices(paths);
            int[] relays = new int[nets.size()];
            for (int i = 0; i < relays.length; i++) {
                relays[i] = locals.gpuOf(nets.get(i));
            }
            for (int i = 0; i < relays.length; i++) {
                sendThrough(relays[i], nets.get(i));
            }
        }
        List<NodePath> spared = policy.networkNeighbours() ? aroundHostMemory() : List.of();
        for (int gpu : gpus) {
            int cpu = paths.nearestCpu(gpu);
            for (int net : nets) {
                boolean inPci = paths.get(gpu, net).type().compareTo(PathType.PHB) < 0;
                if (cpu >= 0 && inPci && !gpuDirect(gpu, net, false)) {
                    paths.divert(gpu, cpu, net);
                    paths.divert(net, cpu, gpu);
                }
            }
        }
        spared.forEach(paths::set);
    }

    /**
     * Finds paths for GPUs near a card that cannot read their memory: over NVLink through a GPU whose memory the card
     * can read. Such a path keeps sent data out of host memory. Received data still passes through host memory.
     */
    private List<NodePath> aroundHostMemory() {
        List<NodePath> spared = new ArrayList<>();
        for (int gpu : gpus) {
            for (int net : nets) {
                boolean direct = paths.get(gpu, net).type().compareTo(PathType.PXN) < 0;
                if (direct && !gpuDirect(gpu, net, false)) {
                    gpus.stream()
                            .filter(relay -> relay != gpu && mayRelay(relay, gpu, net) && gpuDirect(relay, net, true))
                            .map(relay -> paths.through(gpu, relay, net, PathType.PXN))
                            .max(Comparator.comparingDouble(NodePath::bandwidthGBps))
                            .ifPresent(spared::add);
                }
            }
        }
        return spared;
    }

    /**
     * Returns true if the GPU {@code relay} is near enough to the card and connected to the GPU {@code gpu} by NVLink.
     */
    private boolean mayRelay(int relay, int gpu, int net) {
        PathType farthest = policy.networkNeighboursOverChipLink() ? PathType.P2C : PathType.PXB;
        return paths.get(relay, net).type().compareTo(farthest) <= 0
                && paths.get(relay, gpu).type().compareTo(PathType.NVL) <= 0;
    }

    /**
     * Changes the type of a path over a CPU's chip-to-chip link to P2C. Used only for the cards that the GPU reaches
     * best; any other card is better reached through the GPU next to that card.
     */
    private void retypeChipLink(int gpu, int cpu, int net) {
        if (cpu >= 0
                && PathType.joined(
                                paths.get(gpu, cpu).type(), paths.get(net, cpu).type())
                        == PathType.P2C) {
            for (NodePath path : List.of(paths.get(gpu, net), paths.get(net, gpu))) {
                if (path.type().compareTo(PathType.P2C) > 0) {
                    paths.retype(path, PathType.P2C);
                }
            }
        }
    }

    /**
     * Makes GPUs send to a network through {@code relay}, the GPU next to the card: over NVLink to {@code relay}, then
     * over the path from there to the card. Receiving is unchanged: data that arrives goes straight to its GPU.
     */
    private void sendThrough(int relay, int net) {
        for (int gpu : relay < 0 ? List.<Integer>of() : gpus) {
            NodePath own = paths.get(gpu, net);
            boolean better = paths.get(relay, net).bandwidthGBps() > own.bandwidthGBps()
                    || own.type().compareTo(PathType.PXN) > 0;
            if (gpu != relay && mayRelay(relay, gpu, net) && better) {
                paths.set(paths.through(gpu, relay, net, PathType.PXN));
            }
        }
    }

    /** Returns the GPU next to the card through which another GPU sends, or -1 if that GPU sends directly. */
    static int forwarder(PathMatrix paths, int gpu, int net) {
        NodePath path = paths.get(gpu, net);
        return path.type() != PathType.PXN
                ? -1
                : path.via().stream()
                        .filter(node -> paths.topology().node(node).type() == NodeType.GPU)
                        .reduce((first, second) -> second)
                        .orElseThrow();
    }

    /**
     * Returns true if a card accesses GPU memory directly: the memory of the given GPU, or of the GPU through which
     * that one sends.
     */
    boolean gpuDirect(int gpu, int net, boolean reading) {
        NodePath path = paths.get(gpu, net);
        if (path.type() == PathType.PXN) {
            return gpuDirect(forwarder(paths, gpu, net), net, reading);
        }
        Node.Gpu device = (Node.Gpu) topology.node(gpu);
        if (!device.gdr() || !((Node.Net) topology.node(net)).gdr() || reading && !mayRead(gpu, device)) {
            return false;
        }
        boolean overChipLink = path.type() == PathType.P2C && policy.gdrOverChipLink();
        PathType distance = overChipLink ? PathType.C2C : path.type();
        return distance.compareTo(policy.gdrLevel().orElse(FARTHEST_GDR)) <= 0;
    }

    private boolean mayRead(int gpu, Node.Gpu device) {
        return policy.gdrRead().orElseGet(() -> {
            List<Integer> others = gpus.stream()
                    .filter(peer -> !Topology.sameGpu(device, topology.node(peer)))
                    .toList();
            boolean otherTraffic = !others.isEmpty()
                    && others.stream().noneMatch(peer -> paths.get(gpu, peer).type() == PathType.NVL);
            return device.sm() >= SM_GOOD_READS || !otherTraffic;
        });
    }
}
