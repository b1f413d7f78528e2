package io.jccl.search;

import io.jccl.topology.Link;
import io.jccl.topology.Node;
import io.jccl.topology.Topology;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiPredicate;

/**
 * Computes an upper bound for the bandwidth of any set of channels. Every ring enters and leaves every part of a host
 * that contains some, but not all, ranks. So the bandwidth of all links into such a part is a bound, and so is that of
 * all links out of it. The largest flows between ranks find the part with the least bandwidth. If networks take part,
 * the largest flow from outside to each rank is a bound, and so is the flow back. In addition, every route connects any
 * two ranks in one of the two directions, so the sum of the flows in both directions is a bound for routes. Flows can
 * split and pass through any node, so the bound can be higher than fixed paths allow.
 */
public final class CutBound {

    private final FlowNetwork flows = new FlowNetwork();
    private final Topology topology;
    private final List<Integer> ends;
    private final int outside;
    private final StepBudget budget;
    private double leaving;

    private CutBound(Topology topology, boolean networks, BiPredicate<Integer, Integer> usable, StepBudget budget) {
        this.topology = topology;
        this.ends = topology.endpoints();
        this.budget = budget;
        for (int node = 0; node < topology.size(); node++) {
            flows.addNode();
        }
        outside = flows.addNode();
        double sum = 0;
        for (int node = 0; node < topology.size(); node++) {
            for (Link link : topology.links(node)) {
                if (usable.test(node, link.to())) {
                    flows.addArc(node, link.to(), link.bandwidthGBps());
                    sum += link.bandwidthGBps();
                    leaving += topology.node(node).type().isEndpoint() ? link.bandwidthGBps() : 0;
                }
            }
        }
        if (networks) {
            addOutside(sum);
        }
    }

    /**
     * Connects the outside node, which stands for all other hosts, to each port, and each port to the devices that
     * share it; both in both directions.
     */
    private void addOutside(double unbounded) {
        Map<List<Long>, Integer> ports = new HashMap<>();
        for (int node = 0; node < topology.size(); node++) {
            if (topology.node(node) instanceof Node.Net net) {
                Integer port = ports.get(List.of(net.guid(), (long) net.port()));
                if (port == null) {
                    port = flows.addNode();
                    ports.put(List.of(net.guid(), (long) net.port()), port);
                    double width = portGBps(net.guid(), net.port());
                    flows.addArc(outside, port, width);
                    flows.addArc(port, outside, width);
                }
                flows.addArc(port, node, unbounded);
                flows.addArc(node, port, unbounded);
            }
        }
    }

    private double portGBps(long guid, int port) {
        return topology.nodes().stream()
                .filter(node -> node instanceof Node.Net net && net.guid() == guid && net.port() == port)
                .mapToDouble(node -> ((Node.Net) node).bandwidthGBps())
                .max()
                .orElseThrow();
    }

    /**
     * Returns the bound in GB/s for all rings of a host together; infinite if the host has a single endpoint and no
     * networks are used.
     *
     * @param networks whether rings enter from networks and leave to them
     */
    public static double ofRings(Topology topology, boolean networks) {
        return new CutBound(topology, networks, (from, to) -> true, new StepBudget(Long.MAX_VALUE)).rings(networks);
    }

    /**
     * Returns the bound in GB/s for one kind of traffic, over only those links that it can use. A flow that the
     * remaining steps do not suffice to compute is ignored. The bound for trees is the bandwidth in one direction: a
     * chain may begin on either side of a cut, and has one link less than it has ranks.
     */
    static double of(Topology topology, Capacities capacities, Traffic traffic, StepBudget budget) {
        boolean[] used = traffic.used();
        boolean networks = traffic.nets() > 0;
        CutBound cut = new CutBound(topology, networks, (from, to) -> used[capacities.link(from, to)], budget);
        return traffic.isTree() ? cut.trees(networks) : cut.rings(networks);
    }

    private double rings(boolean networks) {
        return networks ? Math.min(fromOutside(), bothDirections()) : oneDirection();
    }

    private double trees(boolean networks) {
        double chains = ends.size() < 2 ? Double.POSITIVE_INFINITY : leaving / (ends.size() - 1);
        return Math.min(chains, networks ? Math.min(fromOutside(), bothDirections()) : bothDirections());
    }

    private double fromOutside() {
        double min = Double.POSITIVE_INFINITY;
        for (int end : ends) {
            min = Math.min(min, flows.largest(outside, end, budget));
            min = Math.min(min, flows.largest(end, outside, budget));
        }
        return min;
    }

    private double oneDirection() {
        double min = Double.POSITIVE_INFINITY;
        for (int end : ends.subList(1, ends.size())) {
            min = Math.min(min, flows.largest(ends.get(0), end, budget));
            min = Math.min(min, flows.largest(end, ends.get(0), budget));
        }
        return min;
    }

    /**
     * Returns the smallest sum of the flows from the first rank to another and back. These flows do not pass through
     * the outside node.
     */
    private double bothDirections() {
        double min = Double.POSITIVE_INFINITY;
        for (int end : ends.subList(1, ends.size())) {
            double there = flows.largestWithout(outside, ends.get(0), end, budget);
            double back = flows.largestWithout(outside, end, ends.get(0), budget);
            min = Math.min(min, there + back);
        }
        return min;
    }
}
