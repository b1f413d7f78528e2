package io.jccl.topology;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/**
 * A machine as a graph. Nodes are numbered in the order of their type, then in that of the description; the links of a
 * node are sorted by falling bandwidth. Immutable and safe to share.
 */
public final class Topology {

    private final List<Node> nodes;
    private final List<List<Link>> links;
    private final Map<String, Integer> indexOfName;

    private Topology(List<Node> nodes, List<List<Link>> links, Map<String, Integer> indexOfName) {
        this.nodes = nodes;
        this.links = links;
        this.indexOfName = indexOfName;
    }

    /** All nodes; a node's place is its index. */
    public List<Node> nodes() {
        return nodes;
    }

    /** The number of nodes. */
    public int size() {
        return nodes.size();
    }

    /** A node by its index. */
    public Node node(int index) {
        return nodes.get(index);
    }

    /** The links that leave a node, the widest first. */
    public List<Link> links(int index) {
        return links.get(index);
    }

    /** The index of the node with this name. */
    public OptionalInt find(String name) {
        Integer index = indexOfName.get(name);
        return index == null ? OptionalInt.empty() : OptionalInt.of(index);
    }

    /** The indexes of all nodes of one type, ascending. */
    public List<Integer> indexesOf(NodeType type) {
        List<Integer> found = new ArrayList<>();
        for (int i = 0; i < nodes.size(); i++) {
            if (nodes.get(i).type() == type) {
                found.add(i);
            }
        }
        return found;
    }

    /** The indexes of all nodes where ranks live, in the order of the ranks. */
    public List<Integer> endpoints() {
        List<Integer> found = new ArrayList<>();
        for (int i = 0; i < nodes.size(); i++) {
            if (rankOf(nodes.get(i)) >= 0) {
                found.add(i);
            }
        }
        found.sort(Comparator.comparingInt(index -> rankOf(nodes.get(index))));
        return found;
    }

    /** This topology with only the nodes marked, and the links between them. */
    Topology keep(boolean[] marked) {
        Builder builder = new Builder();
        for (int i = 0; i < marked.length; i++) {
            if (marked[i]) {
                builder.add(nodes.get(i));
            }
        }
        for (int i = 0; i < marked.length; i++) {
            for (Link link : marked[i] ? links.get(i) : List.<Link>of()) {
                if (marked[link.to()]) {
                    builder.link(nodes.get(i).name(), nodes.get(link.to()).name(), link.type(), link.bandwidthGBps());
                }
            }
        }
        return builder.build();
    }

    /** The rank that lives on a node, or -1. */
    public static int rankOf(Node node) {
        if (node instanceof Node.Gpu gpu) {
            return gpu.rank();
        }
        return node instanceof Node.Host host ? host.rank() : -1;
    }

    /** Collects nodes and links in any order. One builder builds one topology. */
    static final class Builder {

        private record Draft(Node node, List<DraftLink> links) {}

        private record DraftLink(LinkType type, double bandwidthGBps, Draft to) {}

        private final Map<String, Draft> drafts = new HashMap<>();
        private final List<Draft> order = new ArrayList<>();
        private final Map<NodeType, Integer> counts = new EnumMap<>(NodeType.class);

        /** More than any machine has, and few enough for tables of all pairs. */
        private static int limit(NodeType type) {
            return switch (type) {
                case GPU, HOST -> 1024;
                case CPU, NET, NIC -> 256;
                case PCI -> 2048;
                case NVS -> 64;
            };
        }

        /** Adds a node unless one of this name is there; says whether it was added. */
        boolean add(Node node) {
            Draft draft = new Draft(node, new ArrayList<>());
            if (drafts.putIfAbsent(node.name(), draft) != null) {
                return false;
            }
            int count = counts.merge(node.type(), 1, Integer::sum);
            if (count > limit(node.type())) {
                throw new TopologyException(
                        "nodes=" + count + " of type=" + node.type() + ": expected at most " + limit(node.type()));
            }
            order.add(draft);
            return true;
        }

        /** Links two nodes in one direction; links of one type between the same nodes add up. */
        void link(String from, String to, LinkType type, double bandwidthGBps) {
            Draft target = drafts.get(to);
            List<DraftLink> links = drafts.get(from).links;
            for (int i = 0; i < links.size(); i++) {
                DraftLink known = links.get(i);
                if (known.to == target && known.type == type) {
                    links.set(i, new DraftLink(type, known.bandwidthGBps + bandwidthGBps, target));
                    return;
                }
            }
            links.add(new DraftLink(type, bandwidthGBps, target));
        }

        void linkBoth(String one, String other, LinkType type, double bandwidthGBps) {
            link(one, other, type, bandwidthGBps);
            link(other, one, type, bandwidthGBps);
        }

        Topology build() {
            order.sort(Comparator.comparing(draft -> draft.node.type()));
            Map<String, Integer> indexes = new HashMap<>();
            List<Node> nodes = new ArrayList<>();
            for (Draft draft : order) {
                indexes.put(draft.node.name(), nodes.size());
                nodes.add(draft.node);
            }
            List<List<Link>> links = new ArrayList<>();
            for (Draft draft : order) {
                links.add(draft.links.stream()
                        .map(link -> new Link(link.type, link.bandwidthGBps, indexes.get(link.to.node.name())))
                        .sorted(Comparator.comparingDouble(Link::bandwidthGBps).reversed())
                        .toList());
            }
            return new Topology(List.copyOf(nodes), List.copyOf(links), Map.copyOf(indexes));
        }
    }
}
