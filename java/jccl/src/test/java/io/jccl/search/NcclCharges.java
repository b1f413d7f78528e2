package io.jccl.search;

import io.jccl.topology.CpuModel;
import io.jccl.topology.Link;
import io.jccl.topology.LinkType;
import io.jccl.topology.Node;
import io.jccl.topology.NodePath;
import io.jccl.topology.NodePaths;
import io.jccl.topology.NodeType;
import io.jccl.topology.PathType;
import io.jccl.topology.Topology;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Computes the bandwidth of rings if links were charged as in NCCL's search ({@code followPath} and {@code
 * INTEL_P2P_OVERHEAD} in its src/graph/search.cc and topo.h). NCCL charges more than the data itself:
 *
 * <ul>
 * <li>six fifths of the data on PCI links, if the path starts at a GPU and passes an Intel CPU but no link between
 * sockets;
 * <li>an eighth of the data in addition, in the opposite direction of the last link into a GPU before compute
 * capability 8.0, if the path does not start at a GPU;
 * <li>the data once more, in the opposite direction of an NVLink into a POWER CPU.
 * </ul>
 */
final class NcclCharges {

    private static final int AMPERE = 80;

    private final NodePaths paths;
    private final Topology topology;
    private final Map<List<Integer>, Double> charged = new HashMap<>();

    private NcclCharges(NodePaths paths) {
        this.paths = paths;
        this.topology = paths.topology();
    }

    /** Returns the GB/s of all rings together, which is at most what the rings claim. */
    static double carried(NodePaths paths, ChannelGraph rings) {
        return new NcclCharges(paths).charge(rings);
    }

    private double charge(ChannelGraph rings) {
        for (int channel = 0; channel < rings.channels(); channel++) {
            List<Integer> order = rings.orders().get(channel);
            int first = endpoint(order.get(0));
            int last = endpoint(order.get(order.size() - 1));
            for (int i = 0; i + 1 < order.size(); i++) {
                charge(paths.path(endpoint(order.get(i)), endpoint(order.get(i + 1))));
            }
            if (!rings.rails().isEmpty()) {
                charge(paths.path(net(rings.rails().get(channel).in()), first));
                charge(paths.path(last, net(rings.rails().get(channel).out())));
            } else if (first != last) {
                charge(paths.path(last, first));
            }
        }
        double each = rings.bwInter();
        for (Map.Entry<List<Integer>, Double> link : charged.entrySet()) {
            double width = link(link.getKey().get(0), link.getKey().get(1)).bandwidthGBps();
            each = Math.min(each, width / link.getValue());
        }
        return each * rings.channels();
    }

    private void charge(NodePath path) {
        boolean startsAtGpu = topology.node(path.from()) instanceof Node.Gpu;
        boolean packets = startsAtGpu && path.type() == PathType.PHB && crossesIntelCpu(topology, path);
        int at = path.from();
        for (int next : path.via()) {
            LinkType type = link(at, next).type();
            double there = packets && type == LinkType.PCI ? 6.0 / 5 : 1;
            add(at, next, there);
            if (!startsAtGpu && topology.node(next) instanceof Node.Gpu gpu && gpu.sm() < AMPERE) {
                add(next, at, there / 8);
            }
            if (type == LinkType.NVL && topology.node(next) instanceof Node.Cpu cpu && isPower(cpu)) {
                add(next, at, there);
            }
            at = next;
        }
    }

    /** Returns true if a path leads through an Intel CPU. */
    static boolean crossesIntelCpu(Topology topology, NodePath path) {
        return path.via().stream().anyMatch(node -> topology.node(node) instanceof Node.Cpu cpu && isIntel(cpu));
    }

    private void add(int from, int to, double weight) {
        charged.merge(List.of(from, to), weight, Double::sum);
    }

    private Link link(int from, int to) {
        return topology.links(from).stream()
                .filter(link -> link.to() == to)
                .findFirst()
                .orElseThrow();
    }

    private static boolean isIntel(Node.Cpu cpu) {
        CpuModel model = cpu.model();
        return model.arch().equals("x86_64") && model.vendor().equals("GenuineIntel");
    }

    private static boolean isPower(Node.Cpu cpu) {
        return cpu.model().arch().startsWith("ppc64");
    }

    private int endpoint(int rank) {
        return topology.endpoints().stream()
                .filter(node -> Topology.rankOf(topology.node(node)) == rank)
                .findFirst()
                .orElseThrow();
    }

    private int net(int dev) {
        return topology.indexesOf(NodeType.NET).stream()
                .filter(node -> ((Node.Net) topology.node(node)).dev() == dev)
                .findFirst()
                .orElseThrow();
    }
}
