package io.jccl.planning;

import io.jccl.plan.Plan;
import io.jccl.search.Rail;
import io.jccl.topology.Node;
import io.jccl.topology.Topology;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * Compares a plan with what the network devices of a host allow. Channels that were found on a host keep to its devices'
 * limits; a plan may carry each by several.
 */
public final class NetworkLimits {

    private NetworkLimits() {}

    /**
     * What somebody should know who set limits: a sentence for each device that is not used, and one for all whose limit is
     * exceeded.
     *
     * @param host the host, by its number in the plan
     * @param topology that host, as the search saw it
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
                    + ", because the plan carries each channel that was" + " found by several; JCCL_MAX_NCHANNELS="
                    + within + " keeps to it");
        }
        return notes;
    }

    /** How many rings, or trees if these are more, of the first channels use a device. */
    private static int connections(Plan plan, int host, Node.Net net, int channels) {
        return Math.max(
                through(channels, net.dev(), channel -> plan.ringRail(channel, host)),
                through(channels, net.dev(), channel -> plan.treeRail(channel, host)));
    }

    /** How many come in by a device, or leave by it if these are more. */
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
