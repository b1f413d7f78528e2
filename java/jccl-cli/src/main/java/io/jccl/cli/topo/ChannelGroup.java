package io.jccl.cli.topo;

import io.jccl.search.ChannelGraph;
import io.jccl.search.Pattern;
import io.jccl.search.Rail;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Channels that visit the same ranks in the same order, some of them backwards.
 *
 * @param pattern shape of the channels
 * @param order the ranks in the order of the first channel
 * @param forward numbers of the channels that follow this order
 * @param backward numbers of the channels that follow it backwards
 * @param netPorts network devices through which channels enter and leave the host; empty if they use no network
 */
public record ChannelGroup(
        Pattern pattern, List<Integer> order, List<Integer> forward, List<Integer> backward, Set<NetPort> netPorts) {

    /**
     * A network device that channels use, and the rank next to it.
     *
     * @param net number of the device
     * @param rank the rank
     * @param enters true if data enters the host through the device
     * @param leaves true if data leaves the host through the device
     */
    public record NetPort(int net, int rank, boolean enters, boolean leaves) {}

    /** Returns the groups of a graph, the one with the most channels first. */
    public static List<ChannelGroup> of(ChannelGraph graph) {
        Map<List<Integer>, Draft> drafts = new LinkedHashMap<>();
        for (int channel = 0; channel < graph.channels(); channel++) {
            List<Integer> order = graph.orders().get(channel);
            boolean cycle = graph.pattern() == Pattern.RING && graph.rails().isEmpty();
            List<Integer> there = cycle ? fromLowest(order) : order;
            List<Integer> back = cycle ? fromLowest(reversed(order)) : reversed(order);
            boolean reversible =
                    graph.pattern() == Pattern.RING || graph.rails().isEmpty();
            Draft draft = drafts.get(there);
            boolean forward = draft != null || !reversible || !drafts.containsKey(back);
            if (draft == null) {
                draft = forward ? new Draft(there) : drafts.get(back);
                drafts.putIfAbsent(draft.order, draft);
            }
            (forward ? draft.forward : draft.backward).add(channel);
            if (!graph.rails().isEmpty()) {
                addNetPorts(draft.netPorts, graph, channel);
            }
        }
        List<ChannelGroup> groups = new ArrayList<>();
        drafts.values()
                .forEach(draft -> groups.add(
                        new ChannelGroup(graph.pattern(), draft.order, draft.forward, draft.backward, draft.netPorts)));
        groups.sort((one, other) -> Integer.compare(other.channels(), one.channels()));
        return List.copyOf(groups);
    }

    private static final class Draft {
        private final List<Integer> order;
        private final List<Integer> forward = new ArrayList<>();
        private final List<Integer> backward = new ArrayList<>();
        private final Set<NetPort> netPorts = new LinkedHashSet<>();

        private Draft(List<Integer> order) {
            this.order = order;
        }
    }

    /**
     * Adds the network devices of a channel. A ring enters the host at its first rank and leaves it at its last. A tree
     * is connected to other hosts at its first rank, and if it is split, also at its second.
     */
    private static void addNetPorts(Set<NetPort> netPorts, ChannelGraph graph, int channel) {
        List<Integer> order = graph.orders().get(channel);
        Rail rail = graph.rails().get(channel);
        if (graph.pattern() == Pattern.RING) {
            netPorts.add(new NetPort(rail.in(), order.get(0), true, false));
            netPorts.add(new NetPort(rail.out(), order.get(order.size() - 1), false, true));
            return;
        }
        boolean split = graph.pattern() != Pattern.TREE && order.size() > 1;
        netPorts.add(new NetPort(rail.in(), order.get(0), true, true));
        netPorts.add(new NetPort(rail.out(), order.get(split ? 1 : 0), true, true));
    }

    /** Returns the number of channels. */
    public int channels() {
        return forward.size() + backward.size();
    }

    /** Returns the numbers of all channels as text: {@code 0-3, 6}. */
    public String numbers() {
        return Numbers.ranges(
                Stream.concat(forward.stream(), backward.stream()).sorted().toList());
    }

    /** Returns true if the last rank is connected to the first on this host. */
    public boolean closed() {
        return pattern == Pattern.RING && netPorts.isEmpty() && order.size() > 1;
    }

    /** Returns true if data flows in one direction only, so that arrows make sense. */
    public boolean oneWay() {
        return pattern == Pattern.RING && backward.isEmpty();
    }

    /** Returns the ranks as a line of text. */
    public String route() {
        String text = order.stream().map(String::valueOf).collect(Collectors.joining(arrow()));
        return closed() ? text + arrow() + order.get(0) : text;
    }

    /** Returns the sign between two ranks in text. */
    String arrow() {
        return oneWay() ? " → " : pattern == Pattern.RING ? " ⇄ " : " — ";
    }

    /** Returns the network devices in use as text; empty if there are none. */
    public String netNames() {
        List<Integer> nets =
                netPorts.stream().map(NetPort::net).distinct().sorted().toList();
        return nets.isEmpty() ? "" : "NET " + Numbers.ranges(nets);
    }

    private static List<Integer> reversed(List<Integer> order) {
        List<Integer> copy = new ArrayList<>(order);
        Collections.reverse(copy);
        return copy;
    }

    private static List<Integer> fromLowest(List<Integer> cycle) {
        List<Integer> copy = new ArrayList<>(cycle);
        Collections.rotate(copy, -copy.indexOf(Collections.min(copy)));
        return copy;
    }
}
