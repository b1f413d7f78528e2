package io.jccl.topology;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/**
 * A host as a graph. Nodes are numbered in the order of their type, then in that of the description; the links of a
 * node are sorted by falling bandwidth, with the link up the PCI tree last. Immutable and safe to share.
 */
public final class Topology {

    private final List<Node> nodes;
    private final List<List<Link>> links;
    private final Map<String, Integer> indexOfName;
    private final Map<NodeType, List<Integer>> indexesOfType = new EnumMap<>(NodeType.class);

    private Topology(List<Node> nodes, List<List<Link>> links, Map<String, Integer> indexOfName) {
        this.nodes = nodes;
        this.links = links;
        this.indexOfName = indexOfName;
        for (NodeType type : NodeType.values()) {
            indexesOfType.put(type, new ArrayList<>());
        }
        for (int index = 0; index < nodes.size(); index++) {
            indexesOfType.get(nodes.get(index).type()).add(index);
        }
        indexesOfType.replaceAll((type, indexes) -> List.copyOf(indexes));
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

    /** The links that leave a node, the widest first; the one up the PCI tree is the last. */
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
        return indexesOfType.get(type);
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
        int[] place = new int[marked.length];
        List<Node> kept = new ArrayList<>();
        Map<String, Integer> indexes = new HashMap<>();
        for (int i = 0; i < marked.length; i++) {
            place[i] = kept.size();
            if (marked[i]) {
                indexes.put(nodes.get(i).name(), kept.size());
                kept.add(nodes.get(i));
            }
        }
        List<List<Link>> keptLinks = new ArrayList<>();
        for (int i = 0; i < marked.length; i++) {
            if (marked[i]) {
                List<Link> ofNode = new ArrayList<>();
                for (Link link : links.get(i)) {
                    if (marked[link.to()]) {
                        ofNode.add(new Link(link.type(), link.bandwidthGBps(), place[link.to()]));
                    }
                }
                keptLinks.add(List.copyOf(ofNode));
            }
        }
        return new Topology(List.copyOf(kept), List.copyOf(keptLinks), Map.copyOf(indexes));
    }

    /** The rank that lives on a node, or -1. */
    public static int rankOf(Node node) {
        if (node instanceof Node.Gpu gpu) {
            return gpu.rank();
        }
        return node instanceof Node.Host host ? host.rank() : -1;
    }

    /** Whether two nodes are GPUs that cannot use each other's memory. */
    boolean barred(int one, int other) {
        return nodes.get(one) instanceof Node.Gpu gpu
                && nodes.get(other) instanceof Node.Gpu peer
                && gpu.isBarredFrom(peer);
    }

    /** Whether two nodes are the same GPU, for two of its ranks or for one. */
    static boolean sameGpu(Node one, Node other) {
        return one instanceof Node.Gpu gpu
                && other instanceof Node.Gpu peer
                && gpu.busId().equalsIgnoreCase(peer.busId());
    }

    /** Whether a node is a GPU that a rank owns. */
    static boolean isGpuOfRank(Node node) {
        return node instanceof Node.Gpu gpu && gpu.rank() >= 0;
    }

    /** Collects nodes and links in any order. One builder builds one topology. */
    static final class Builder {

        private record Draft(Node node, List<DraftLink> links) implements Comparable<Draft> {

            @Override
            public int compareTo(Draft other) {
                return node.type().compareTo(other.node.type());
            }
        }

        private record DraftLink(LinkType type, double bandwidthGBps, Draft to) {}

        private final Map<String, Draft> drafts = new HashMap<>();
        private final Map<String, String> parents = new HashMap<>();
        private final List<Draft> order = new ArrayList<>();
        private final Map<NodeType, Integer> counts = new EnumMap<>(NodeType.class);

        /** More than any host has, and few enough for tables of all pairs. */
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
            int count = 1 + counts.getOrDefault(node.type(), 0);
            counts.put(node.type(), count);
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

        /** Links a PCI device to what it hangs on. */
        void linkToParent(String child, String parent, double bandwidthGBps) {
            linkBoth(child, parent, LinkType.PCI, bandwidthGBps);
            parents.put(child, parent);
        }

        private boolean isUp(Draft from, DraftLink link) {
            return link.type == LinkType.PCI && link.to.node.name().equals(parents.get(from.node.name()));
        }

        /** Links to the parent come last, before them the widest first. */
        private int compare(Draft from, DraftLink one, DraftLink other) {
            int byDirection = Boolean.compare(isUp(from, one), isUp(from, other));
            return byDirection != 0 ? byDirection : Double.compare(other.bandwidthGBps, one.bandwidthGBps);
        }

        Topology build() {
            Collections.sort(order);
            Map<String, Integer> indexes = new HashMap<>();
            List<Node> nodes = new ArrayList<>();
            for (Draft draft : order) {
                indexes.put(draft.node.name(), nodes.size());
                nodes.add(draft.node);
            }
            List<List<Link>> links = new ArrayList<>();
            for (Draft draft : order) {
                draft.links.sort((one, other) -> compare(draft, one, other));
                List<Link> ofNode = new ArrayList<>();
                for (DraftLink link : draft.links) {
                    ofNode.add(new Link(link.type, link.bandwidthGBps, indexes.get(link.to.node.name())));
                }
                links.add(List.copyOf(ofNode));
            }
            return new Topology(List.copyOf(nodes), List.copyOf(links), Map.copyOf(indexes));
        }
    }
}
