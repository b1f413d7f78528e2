package io.jccl.search;

import io.jccl.topology.Link;
import io.jccl.topology.Node;
import io.jccl.topology.NodePath;
import io.jccl.topology.Topology;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The resources of a host that several paths can share, numbered, with their bandwidth in GB/s: each directed link, and
 * each direction of a network port that several network devices share. Immutable.
 */
final class Capacities {

    private record Port(long guid, int port, boolean receives) {}

    private final Topology topology;
    private final Map<Integer, Integer> links = new HashMap<>(); // key: edge()
    private final Map<Port, Integer> ports = new HashMap<>();
    private final List<Double> gbps = new ArrayList<>();

    Capacities(Topology topology) {
        this.topology = topology;
        for (int node = 0; node < topology.size(); node++) {
            for (Link link : topology.links(node)) {
                // Several links between the same two nodes differ in type. A path takes the widest of them, which comes
                // first.
                if (links.putIfAbsent(edge(node, link.to()), gbps.size()) == null) {
                    gbps.add(link.bandwidthGBps());
                }
            }
        }
        addSharedPorts();
    }

    private void addSharedPorts() {
        Map<Port, List<Node.Net>> devices = new HashMap<>();
        List<Port> order = new ArrayList<>();
        for (Node node : topology.nodes()) {
            if (node instanceof Node.Net net) {
                Port port = port(net, true);
                if (!devices.containsKey(port)) {
                    order.add(port);
                }
                devices.computeIfAbsent(port, key -> new ArrayList<>()).add(net);
            }
        }
        for (Port port : order) {
            List<Node.Net> views = devices.get(port);
            if (views.size() > 1) {
                double widest = views.stream()
                        .mapToDouble(Node.Net::bandwidthGBps)
                        .max()
                        .orElseThrow();
                for (boolean receives : new boolean[] {true, false}) {
                    ports.put(new Port(port.guid, port.port, receives), gbps.size());
                    gbps.add(widest);
                }
            }
        }
    }

    private static Port port(Node.Net net, boolean receives) {
        return new Port(net.guid(), net.port(), receives);
    }

    private int edge(int from, int to) {
        return from * topology.size() + to;
    }

    int size() {
        return gbps.size();
    }

    double gbps(int resource) {
        return gbps.get(resource);
    }

    /** Returns the number of the link between two nodes. */
    int link(int from, int to) {
        return links.get(edge(from, to));
    }

    /** Returns the numbers of the resources that a path uses; null if there is no path. */
    int[] uses(NodePath path) {
        if (!path.exists()) {
            return null;
        }
        List<Integer> uses = new ArrayList<>();
        int at = path.from();
        for (int next : path.via()) {
            addPort(uses, at, true);
            Integer link = links.get(edge(at, next));
            if (link == null) {
                throw new IllegalArgumentException("from=" + topology.node(at).name() + " to="
                        + topology.node(next).name() + ": a path of this topology goes over a link it does not have");
            }
            uses.add(link);
            addPort(uses, next, false);
            at = next;
        }
        int[] numbers = new int[uses.size()];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = uses.get(i);
        }
        return numbers;
    }

    /**
     * Adds the port of a network device, if devices share it: its receiving direction if a path starts at the device,
     * its sending direction if a path ends there.
     */
    private void addPort(List<Integer> uses, int node, boolean receives) {
        if (topology.node(node) instanceof Node.Net net) {
            Integer resource = ports.get(port(net, receives));
            if (resource != null) {
                uses.add(resource);
            }
        }
    }
}
