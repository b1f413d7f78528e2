package io.jccl.planning;

import io.jccl.search.Rail;
import io.jccl.topology.Node;
import io.jccl.topology.Topology;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * Compares a plan with the channel limits of a host's network devices. Channels that were found on a host respect these
 * limits, but a plan may have several channels for each found one.
 */
public final class NetworkLimits {

    private NetworkLimits() {}

    /**
     * Returns notes for users who set limits: a sentence for each device that is not used, and one for all devices
     * whose limit is exceeded.
     *
     * @param host the number of the host in the plan
     * @param topology the topology of that host with which the search worked
     */
    public static List<String> notes(Plan plan, int host, Topology topology) {
        List<String> notes = new ArrayList<>();
        List<String> exceeded = new ArrayList<>();
        int within = plan.channels();
        for (Node node : topology.nodes()) {
            if (node instanceof Node.Net net) {
                int all = connections(plan, host, net, plan.channels());
                if (net.maxConnections() == 0) {
                    notes.add(net.label() + " maxconn=0: no channel uses it");
                } else if (all > net.maxConnections()) {
                    exceeded.add(net.label() + " " + all + " of " + net.maxConnections());
                    while (connections(plan, host, net, within) > net.maxConnections()) {
                        within--;
                    }
                }
            }
        }
        if (!exceeded.isEmpty()) {
            notes.add("maxconn is exceeded by " + String.join(", ", exceeded)
                    + ", because the plan carries each found channel by several of its own; JCCL_MAX_NCHANNELS="
                    + within + " prevents that");
        }
        return notes;
    }

    /**
     * Counts the rings and the trees of the first {@code channels} channels that use a device, and returns the larger
     * of the two numbers.
     */
    private static int connections(Plan plan, int host, Node.Net net, int channels) {
        return Math.max(
                through(channels, net.dev(), channel -> plan.ringRail(channel, host)),
                through(channels, net.dev(), channel -> plan.treeRail(channel, host)));
    }

    /**
     * Counts the channels that enter a host by a device and those that leave by it, and returns the larger of the two
     * numbers.
     */
    private static int through(int channels, int dev, IntFunction<Optional<Rail>> railOf) {
        List<Rail> rails = IntStream.range(0, channels)
                .mapToObj(railOf)
                .flatMap(Optional::stream)
                .toList();
        return (int) Math.max(
                rails.stream().filter(rail -> rail.in() == dev).count(),
                rails.stream().filter(rail -> rail.out() == dev).count());
    }
}
