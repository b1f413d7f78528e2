package io.jccl.cli.topo.svg;

import io.jccl.cli.topo.ChannelGroup;
import io.jccl.cli.topo.TopologyReport;
import io.jccl.topology.PathType;
import io.jccl.topology.Topology;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Follows the channels of a report along the links of its host. */
final class Traces {

    private final Wiring wiring;
    private final Map<String, Map<String, TopologyReport.PathRow>> paths = new HashMap<>();
    private final Map<Integer, String> nodeOfRank = new HashMap<>();

    Traces(Wiring wiring, TopologyReport report) {
        this.wiring = wiring;
        for (TopologyReport.PathRow path : report.paths()) {
            paths.computeIfAbsent(path.from(), from -> new HashMap<>()).put(path.to(), path);
        }
        for (String name : wiring.host().names()) {
            wiring.host().detail(name).ifPresent(node -> nodeOfRank.put(Topology.rankOf(node), name));
        }
    }

    /** Returns the steps of all groups. */
    List<Trace> of(List<ChannelGroup> groups) {
        List<Trace> traces = new ArrayList<>();
        for (int number = 0; number < groups.size(); number++) {
            ChannelGroup group = groups.get(number);
            List<Integer> order = group.order();
            for (int i = 0; i + 1 < order.size(); i++) {
                add(traces, number, node(order.get(i)), node(order.get(i + 1)), group.oneWay());
            }
            if (group.closed()) {
                add(traces, number, node(order.get(order.size() - 1)), node(order.get(0)), group.oneWay());
            }
            for (ChannelGroup.NetPort port : group.netPorts()) {
                String net = "NET/" + port.net();
                boolean arrow = group.oneWay() && port.enters() != port.leaves();
                if (port.enters()) {
                    add(traces, number, net, node(port.rank()), arrow);
                } else {
                    add(traces, number, node(port.rank()), net, arrow);
                }
            }
        }
        return traces;
    }

    private String node(int rank) {
        return nodeOfRank.getOrDefault(rank, "");
    }

    /**
     * Adds a step. If there is no path over drawn links, for example between ranks that share a GPU, nothing is added.
     */
    private void add(List<Trace> traces, int group, String from, String to, boolean arrow) {
        TopologyReport.PathRow path = paths.getOrDefault(from, Map.of()).get(to);
        if (path == null || path.type() == PathType.DIS || path.via().isEmpty()) {
            return;
        }
        List<Leg> legs = new ArrayList<>();
        List<String> strips = new ArrayList<>(List.of(from));
        String at = from;
        for (String next : path.via()) {
            List<Leg> step = wiring.between(at, next);
            if (step.isEmpty()) {
                return;
            }
            for (Leg leg : step) {
                strips.add(leg.opposite(strips.get(strips.size() - 1)));
            }
            legs.addAll(step);
            at = next;
        }
        traces.add(new Trace(group, List.copyOf(legs), List.copyOf(strips), arrow));
    }
}
