package io.jccl.search;

import io.jccl.topology.Node;
import io.jccl.topology.NodePath;
import io.jccl.topology.NodePaths;
import io.jccl.topology.NodeType;
import io.jccl.topology.Topology;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The bandwidth that the links of a host give to each pair of its GPUs, in GB/s for each ordered pair of ranks, by the
 * pairs that move data at the same time. Each transfer loads all links of its path, such as those of a PCI switch or
 * between sockets. Infinite if no transfer of a kind uses a link.
 *
 * @param all if every rank sends to every other rank
 * @param one if one rank sends to all others or receives from them; the lowest of all ranks and of both directions
 * @param single if only one pair moves data; the lowest of all pairs
 * @param host bandwidth between each rank and the memory of the nearest CPU, if all ranks use it at the same time, in
 *     each direction
 */
public record PeerRates(double all, double one, double single, double host) {

    /** No limits, for hosts whose links are unknown. */
    public static final PeerRates UNLIMITED = new PeerRates(
            Double.POSITIVE_INFINITY, Double.POSITIVE_INFINITY, Double.POSITIVE_INFINITY, Double.POSITIVE_INFINITY);

    public PeerRates {
        if (!(all > 0) || !(one > 0) || !(single > 0) || !(host > 0)) {
            throw new IllegalArgumentException("all=" + all + " one=" + one + " single=" + single + " host=" + host
                    + ": expected more than 0 GB/s, or infinity for no limit");
        }
    }

    /** Returns the rates on a host; no limits if its ranks own no GPUs. */
    public static PeerRates of(NodePaths paths) {
        Topology topology = paths.topology();
        List<Integer> gpus = gpusOfRanks(topology);
        return gpus.isEmpty() ? UNLIMITED : new Measure(paths, gpus).rates();
    }

    /** Returns the node of each rank's GPU. Ranks that share a GPU get the same node, because they share its links. */
    private static List<Integer> gpusOfRanks(Topology topology) {
        List<Integer> gpus = new ArrayList<>();
        Map<String, Integer> nodes = new HashMap<>();
        topology.endpoints().stream()
                .sorted(Comparator.comparingInt(node -> Topology.rankOf(topology.node(node))))
                .forEach(node -> {
                    if (topology.node(node) instanceof Node.Gpu gpu) {
                        gpus.add(nodes.computeIfAbsent(gpu.busId(), id -> node));
                    }
                });
        return gpus;
    }

    /** Returns the lower of both rates for each kind of transfer. */
    public PeerRates worst(PeerRates other) {
        return new PeerRates(
                Math.min(all, other.all),
                Math.min(one, other.one),
                Math.min(single, other.single),
                Math.min(host, other.host));
    }

    /**
     * Returns these rates for ranks that reach each other only through host memory.
     *
     * @param ranks number of ranks on the host
     * @param gbps bandwidth of one GPU's link to its host in each direction
     */
    public PeerRates throughHost(int ranks, double gbps) {
        double link = Math.min(gbps, host);
        double each = link / Math.max(1, ranks - 1);
        return worst(new PeerRates(each, each, link, link));
    }

    /** Adds the loads of transfers, and divides the bandwidth of each link by its load. */
    private static final class Measure {

        private final NodePaths paths;
        private final Capacities capacities;
        private final List<Integer> gpus;

        Measure(NodePaths paths, List<Integer> gpus) {
            this.paths = paths;
            this.capacities = new Capacities(paths.topology());
            this.gpus = gpus;
        }

        PeerRates rates() {
            double[] all = new double[capacities.size()];
            double one = Double.POSITIVE_INFINITY;
            double single = Double.POSITIVE_INFINITY;
            Set<Integer> roots = new HashSet<>();
            for (int root : gpus) {
                double[] out = new double[all.length];
                double[] in = new double[all.length];
                for (int peer : gpus) {
                    if (peer != root) {
                        load(out, paths.path(root, peer));
                        load(in, paths.path(peer, root));
                        single = Math.min(single, paths.path(root, peer).exists() ? rate(root, peer) : single);
                    }
                }
                for (int link = 0; link < all.length; link++) {
                    all[link] += out[link];
                }
                if (roots.add(root)) {
                    one = Math.min(one, Math.min(lowest(out), lowest(in)));
                }
            }
            return new PeerRates(lowest(all), one, single, host());
        }

        private double rate(int from, int to) {
            double[] load = new double[capacities.size()];
            load(load, paths.path(from, to));
            return lowest(load);
        }

        private double host() {
            double[] up = new double[capacities.size()];
            double[] down = new double[capacities.size()];
            for (int gpu : gpus) {
                int cpu = paths.nearest(gpu, NodeType.CPU);
                if (cpu >= 0) {
                    load(up, paths.path(gpu, cpu));
                    load(down, paths.path(cpu, gpu));
                }
            }
            return Math.min(lowest(up), lowest(down));
        }

        private void load(double[] loads, NodePath path) {
            int[] uses = capacities.uses(path);
            for (int i = 0; uses != null && i < uses.length; i++) {
                loads[uses[i]]++;
            }
        }

        private double lowest(double[] loads) {
            double lowest = Double.POSITIVE_INFINITY;
            for (int link = 0; link < loads.length; link++) {
                lowest = loads[link] > 0 ? Math.min(lowest, capacities.gbps(link) / loads[link]) : lowest;
            }
            return lowest;
        }
    }
}
