package io.jccl.search;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.topology.Link;
import io.jccl.topology.Node;
import io.jccl.topology.NodePath;
import io.jccl.topology.NodePaths;
import io.jccl.topology.NodeType;
import io.jccl.topology.Topology;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Proves that a host can carry its channels. The checker shares nothing with the search but the paths. It sends every
 * channel's data along the paths, link by link, and requires that no link, and no port that several devices share, gets
 * more than its bandwidth.
 */
final class ChannelChecker {

    /** Allows for rounding in sums of some hundred numbers. */
    private static final double TOLERANCE = 1 + 1e-9;

    private final NodePaths paths;
    private final Topology topology;
    private final ChannelGraph graph;
    private final String what;

    private ChannelChecker(NodePaths paths, ChannelGraph graph, String what) {
        this.paths = paths;
        this.topology = paths.topology();
        this.graph = graph;
        this.what = what + " " + graph.pattern();
    }

    /**
     * Fails unless every channel visits every rank once and the ranks of one GPU in a row, and the host can carry all
     * channels together.
     */
    static void check(NodePaths paths, ChannelGraph graph, String what) {
        new ChannelChecker(paths, graph, what).check();
    }

    private void check() {
        List<Integer> everyone = topology.nodes().stream()
                .map(Topology::rankOf)
                .filter(rank -> rank >= 0)
                .sorted()
                .toList();
        for (List<Integer> order : graph.orders()) {
            assertThat(order.stream().sorted().toList()).as(what).isEqualTo(everyone);
            List<String> gpus = order.stream().map(rank -> name(rank(rank))).toList();
            long visits = IntStream.range(0, gpus.size())
                    .filter(place -> place == 0 || !gpus.get(place).equals(gpus.get(place - 1)))
                    .count();
            assertThat(visits)
                    .as(what + " visits each GPU once: " + gpus)
                    .isEqualTo(gpus.stream().distinct().count());
        }
        assertThat(graph.bwIntra()).as(what).isPositive().isFinite();
        assertThat(graph.bwInter()).as(what).isPositive().isLessThanOrEqualTo(graph.bwIntra() * TOLERANCE);
        assertThat(graph.crossNic())
                .as(what)
                .isEqualTo(graph.rails().stream().anyMatch(nets -> nets.in() != nets.out()));
        admitted();
        if (graph.pattern() == Pattern.RING) {
            carriable(rings(), "around");
        } else {
            Map<String, Double> down = trees(true, 1);
            Map<String, Double> up = trees(false, 1);
            carriable(down, "down");
            carriable(up, "up");
            Map<String, Double> both = trees(true, 0.5);
            trees(false, 0.5).forEach((link, gbps) -> both.merge(link, gbps, Double::sum));
            carriable(both, "both directions at half");
        }
    }

    /** Requires that no device receives or sends more channels than it allows. */
    private void admitted() {
        for (Node node : topology.nodes()) {
            if (node instanceof Node.Net net) {
                for (ToIntFunction<Rail> end : List.<ToIntFunction<Rail>>of(Rail::in, Rail::out)) {
                    assertThat(graph.rails().stream()
                                    .filter(nets -> end.applyAsInt(nets) == net.dev())
                                    .count())
                            .as(what + " " + net.name() + " of " + graph)
                            .isLessThanOrEqualTo(net.maxConnections());
                }
            }
        }
    }

    private Map<String, Double> rings() {
        Map<String, Double> carried = new TreeMap<>();
        for (int channel = 0; channel < graph.channels(); channel++) {
            List<Integer> order = graph.orders().get(channel);
            for (int i = 0; i + 1 < order.size(); i++) {
                send(carried, rank(order.get(i)), rank(order.get(i + 1)), graph.bwIntra());
            }
            if (graph.rails().isEmpty()) {
                send(carried, rank(order.get(order.size() - 1)), rank(order.get(0)), graph.bwIntra());
            } else {
                Rail nets = graph.rails().get(channel);
                send(carried, net(nets.in()), rank(order.get(0)), graph.bwInter());
                send(carried, rank(order.get(order.size() - 1)), net(nets.out()), graph.bwInter());
            }
        }
        return carried;
    }

    /** Returns the load of each link. The pattern defines which ranks exchange data with the hosts above and below. */
    private Map<String, Double> trees(boolean down, double share) {
        Map<String, Double> carried = new TreeMap<>();
        for (int channel = 0; channel < graph.channels(); channel++) {
            List<Integer> order = graph.orders().get(channel);
            for (int i = 0; i + 1 < order.size(); i++) {
                int parent = rank(order.get(i));
                int child = rank(order.get(i + 1));
                send(carried, down ? parent : child, down ? child : parent, share * graph.bwIntra());
            }
            if (!graph.rails().isEmpty()) {
                Rail nets = graph.rails().get(channel);
                assertThat(nets.in()).as(what).isEqualTo(nets.out());
                int device = net(nets.in());
                exchange(carried, device, order.get(0), down, share * graph.bwInter());
                List<Integer> below = new ArrayList<>();
                switch (graph.pattern()) {
                    case TREE -> below.addAll(List.of(order.get(0), order.get(0)));
                    case SPLIT_TREE -> below.addAll(List.of(second(order), second(order)));
                    case BALANCED_TREE -> below.addAll(List.of(order.get(0), second(order)));
                    case RING -> throw new AssertionError(what);
                }
                below.forEach(rank -> exchange(carried, device, rank, !down, share * graph.bwInter() / 2));
            }
        }
        return carried;
    }

    private static int second(List<Integer> order) {
        return order.get(order.size() > 1 ? 1 : 0);
    }

    private void exchange(Map<String, Double> carried, int device, int rank, boolean in, double gbps) {
        send(carried, in ? device : rank(rank), in ? rank(rank) : device, gbps);
    }

    private void send(Map<String, Double> carried, int from, int to, double gbps) {
        NodePath path = paths.path(from, to);
        assertThat(path.exists())
                .as(what + " " + name(from) + " to " + name(to))
                .isTrue();
        List<Integer> stations = new ArrayList<>(List.of(from));
        stations.addAll(path.via());
        for (int i = 0; i + 1 < stations.size(); i++) {
            String one = name(stations.get(i));
            String other = name(stations.get(i + 1));
            carried.merge(one + " > " + other, gbps, Double::sum);
            if (topology.node(stations.get(i)) instanceof Node.Net net) {
                carried.merge("from port " + net.guid() + "/" + net.port(), gbps, Double::sum);
            }
            if (topology.node(stations.get(i + 1)) instanceof Node.Net net) {
                carried.merge("to port " + net.guid() + "/" + net.port(), gbps, Double::sum);
            }
        }
    }

    private void carriable(Map<String, Double> carried, String direction) {
        Map<String, Double> widths = new TreeMap<>();
        for (int node = 0; node < topology.size(); node++) {
            for (Link link : topology.links(node)) {
                widths.merge(name(node) + " > " + name(link.to()), link.bandwidthGBps(), Math::max);
            }
            if (topology.node(node) instanceof Node.Net net) {
                widths.merge("from port " + net.guid() + "/" + net.port(), net.bandwidthGBps(), Math::max);
                widths.merge("to port " + net.guid() + "/" + net.port(), net.bandwidthGBps(), Math::max);
            }
        }
        Map<String, Double> tooMuch = carried.entrySet().stream()
                .filter(link -> link.getValue() > widths.getOrDefault(link.getKey(), 0.0) * TOLERANCE)
                .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
        assertThat(tooMuch).as(what + " " + direction + " of " + graph).isEmpty();
    }

    private int rank(int rank) {
        return index(node -> Topology.rankOf(node) == rank);
    }

    private int net(int dev) {
        return index(node -> node.type() == NodeType.NET && ((Node.Net) node).dev() == dev);
    }

    private int index(java.util.function.Predicate<Node> matches) {
        for (int node = 0; node < topology.size(); node++) {
            if (matches.test(topology.node(node))) {
                return node;
            }
        }
        throw new AssertionError(what + ": no such node in " + topology.nodes());
    }

    /**
     * Returns the name of a node. Ranks on one GPU have one name: they share the GPU's links, and use its memory among
     * themselves.
     */
    private String name(int node) {
        return topology.node(node) instanceof Node.Gpu gpu
                ? "GPU at " + gpu.busId()
                : topology.node(node).name();
    }
}
