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
 * The graph of one host: its nodes and the links between them. Nodes are numbered by type, and within a type in the
 * order of the description. The links of a node are sorted by falling bandwidth, with the link up the PCI tree last.
 * Immutable and safe to share.
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

    /** Returns all nodes; a node's position in the list is its index. */
    public List<Node> nodes() {
        return nodes;
    }

    public int size() {
        return nodes.size();
    }

    /** Returns the node with this index. */
    public Node node(int index) {
        return nodes.get(index);
    }

    /** Returns the links that leave a node, the widest first and the one up the PCI tree last. */
    public List<Link> links(int index) {
        return links.get(index);
    }

    /** Returns the index of the node with this name; empty if the topology has no such node. */
    public OptionalInt find(String name) {
        Integer index = indexOfName.get(name);
        return index == null ? OptionalInt.empty() : OptionalInt.of(index);
    }

    /** Returns the indexes of all nodes of one type in ascending order. */
    public List<Integer> indexesOf(NodeType type) {
        return indexesOfType.get(type);
    }

    /** Returns the indexes of all nodes that are the endpoint of a rank, in the order of the ranks. */
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

    /** Returns a topology that consists of the marked nodes and the links between them. */
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

    /** Returns the rank whose endpoint the node is, or -1 if no rank owns it. */
    public static int rankOf(Node node) {
        if (node instanceof Node.Gpu gpu) {
            return gpu.rank();
        }
        return node instanceof Node.Host host ? host.rank() : -1;
    }

    /** Returns true if two nodes are GPUs that cannot use each other's memory. */
    boolean barred(int one, int other) {
        return nodes.get(one) instanceof Node.Gpu gpu
                && nodes.get(other) instanceof Node.Gpu peer
                && gpu.isBarredFrom(peer);
    }

    /** Returns true if two nodes are the same GPU: one node, or the nodes of two ranks that share the GPU. */
    static boolean sameGpu(Node one, Node other) {
        return one instanceof Node.Gpu gpu
                && other instanceof Node.Gpu peer
                && gpu.busId().equalsIgnoreCase(peer.busId());
    }

    /** Returns true if a node is a GPU that a rank owns. */
    static boolean isGpuOfRank(Node node) {
        return node instanceof Node.Gpu gpu && gpu.rank() >= 0;
    }

    /** Builds one topology from nodes and links that may be added in any order. */
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

        /**
         * Returns the largest accepted number of nodes of a type: more than any host has, yet few enough for tables of
         * all pairs.
         */
        private static int limit(NodeType type) {
            return switch (type) {
                case GPU, HOST -> 1024;
                case CPU, NET, NIC -> 256;
                case PCI -> 2048;
                case NVS -> 64;
            };
        }

        /** Adds a node; returns false and adds nothing if a node of this name exists. */
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

        /**
         * Links two nodes in one direction. The bandwidths of several links of one type between the same two nodes add
         * up.
         */
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

        /** Links a PCI device to its parent: the bridge, switch or CPU above it. */
        void linkToParent(String child, String parent, double bandwidthGBps) {
            linkBoth(child, parent, LinkType.PCI, bandwidthGBps);
            parents.put(child, parent);
        }

        private boolean isUp(Draft from, DraftLink link) {
            return link.type == LinkType.PCI && link.to.node.name().equals(parents.get(from.node.name()));
        }

        /** Orders the links of a node: by falling bandwidth, with the link to the parent last. */
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
