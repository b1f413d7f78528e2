package io.jccl.cli.topo;

import io.jccl.topology.GraphBuilder;
import io.jccl.topology.LinkType;
import io.jccl.topology.Node;
import io.jccl.topology.NodeType;
import io.jccl.topology.Topology;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/** The nodes of a report as people see a host: a tree below each NUMA node, and the other links. Immutable. */
public final class HostView {

    private static final Set<LinkType> TREE_LINKS = EnumSet.of(LinkType.PCI, LinkType.MEM, LinkType.NET);

    private final Map<String, NodeType> types = new LinkedHashMap<>();
    private final Map<String, Node> details = new HashMap<>();
    private final List<Wire> wires = new ArrayList<>();
    private final Map<String, Wire> upward = new HashMap<>();
    private final Map<String, String> parents = new HashMap<>();
    private final Map<String, List<String>> children = new HashMap<>();
    private final List<String> roots = new ArrayList<>();

    private HostView() {}

    /** Returns the host of a report. */
    public static HostView of(TopologyReport report) {
        HostView view = new HostView();
        Topology described = GraphBuilder.build(report.description());
        for (TopologyReport.NodeRow row : report.nodes()) {
            view.types.put(row.name(), NodeType.valueOf(row.type()));
            described.find(row.name()).ifPresent(index -> view.details.put(row.name(), described.node(index)));
        }
        view.collectWires(report.nodes());
        view.growTrees();
        return view;
    }

    private void collectWires(List<TopologyReport.NodeRow> rows) {
        Map<List<String>, Wire> found = new LinkedHashMap<>();
        for (TopologyReport.NodeRow row : rows) {
            for (TopologyReport.LinkRow link : row.links()) {
                LinkType type = LinkType.valueOf(link.type());
                Wire known = found.get(List.of(link.to(), row.name(), link.type()));
                if (known != null) {
                    found.put(
                            List.of(link.to(), row.name(), link.type()),
                            new Wire(type, known.one(), known.other(), known.there(), link.bw()));
                } else {
                    found.put(
                            List.of(row.name(), link.to(), link.type()),
                            new Wire(type, row.name(), link.to(), link.bw(), 0));
                }
            }
        }
        wires.addAll(found.values());
    }

    private void growTrees() {
        ofType(NodeType.CPU).forEach(roots::add);
        types.keySet().forEach(name -> children.put(name, new ArrayList<>()));
        spread(wire -> TREE_LINKS.contains(wire.type()));
        spread(wire -> wire.type() != LinkType.SYS);
        for (String name : types.keySet()) {
            if (types.get(name) != NodeType.NVS && types.get(name) != NodeType.CPU && !parents.containsKey(name)) {
                roots.add(name);
            }
        }
    }

    /**
     * Adds to the trees the nodes that usable wires connect to them. No node is added below a GPU or a rank in host
     * memory.
     */
    private void spread(Predicate<Wire> usable) {
        Deque<String> open = new ArrayDeque<>();
        types.keySet().stream()
                .filter(name -> roots.contains(name) || parents.containsKey(name))
                .forEach(open::add);
        while (!open.isEmpty()) {
            String from = open.remove();
            if (types.get(from).isEndpoint()) {
                continue;
            }
            for (Wire wire : wires) {
                String to = wire.opposite(from);
                boolean free = !roots.contains(to) && !parents.containsKey(to) && types.get(to) != NodeType.NVS;
                if (wire.touches(from) && usable.test(wire) && free) {
                    parents.put(to, from);
                    upward.put(to, wire);
                    children.get(from).add(to);
                    open.add(to);
                }
            }
        }
    }

    /** Returns the names of all nodes. */
    public List<String> names() {
        return List.copyOf(types.keySet());
    }

    /** Returns the type of a node. */
    public NodeType type(String name) {
        return types.get(name);
    }

    /** Returns the details of a node; empty if the description does not contain it. */
    public Optional<Node> detail(String name) {
        return Optional.ofNullable(details.get(name));
    }

    /** Returns the names of all nodes of one type. */
    public List<String> ofType(NodeType type) {
        return types.keySet().stream().filter(name -> types.get(name) == type).toList();
    }

    /** Returns all links. */
    public List<Wire> wires() {
        return List.copyOf(wires);
    }

    /** Returns the links at a node. */
    public List<Wire> wiresAt(String name) {
        return wires.stream().filter(wire -> wire.touches(name)).toList();
    }

    /** Returns the link with the highest bandwidth between two nodes. */
    public Optional<Wire> widest(String one, String other) {
        return wires.stream()
                .filter(wire -> wire.touches(one) && wire.touches(other))
                .reduce((best, next) -> next.bandwidthGBps() > best.bandwidthGBps() ? next : best);
    }

    /** Returns the NUMA nodes, and nodes that none of them reaches. */
    public List<String> roots() {
        return List.copyOf(roots);
    }

    /** Returns the nodes directly below a node. */
    public List<String> children(String name) {
        return List.copyOf(children.get(name));
    }

    /** Returns the node directly above a node. */
    public Optional<String> parent(String name) {
        return Optional.ofNullable(parents.get(name));
    }

    /** Returns the link between a node and its parent. */
    public Optional<Wire> upward(String name) {
        return Optional.ofNullable(upward.get(name));
    }

    /** Returns true if one node is somewhere above another. */
    public boolean above(String upper, String lower) {
        for (String at = parents.get(lower); at != null; at = parents.get(at)) {
            if (at.equals(upper)) {
                return true;
            }
        }
        return false;
    }

    /** Returns the number of nodes above a node. */
    public int depth(String name) {
        int depth = 0;
        for (String at = parents.get(name); at != null; at = parents.get(at)) {
            depth++;
        }
        return depth;
    }

    /**
     * Returns one of the links between NUMA nodes if there are more than two nodes and every pair has a link of the
     * same bandwidth; else empty.
     */
    public Optional<Wire> evenMesh() {
        int cpus = ofType(NodeType.CPU).size();
        List<Wire> between =
                wires.stream().filter(wire -> wire.type() == LinkType.SYS).toList();
        boolean even = cpus > 2
                && between.size() == cpus * (cpus - 1) / 2
                && between.stream().mapToDouble(Wire::there).distinct().count() == 1
                && between.stream().allMatch(wire -> wire.there() == wire.back());
        return even ? Optional.of(between.get(0)) : Optional.empty();
    }
}
