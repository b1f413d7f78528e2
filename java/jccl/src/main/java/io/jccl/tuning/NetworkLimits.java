package io.jccl.tuning;

import io.jccl.plan.Plan;
import io.jccl.plan.Rail;
import io.jccl.topology.Node;
import io.jccl.topology.Topology;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * Compares a plan with what the network devices of a machine allow. Channels that were found on a machine keep to its devices'
 * limits; a plan may carry each by several.
 */
public final class NetworkLimits {

    private NetworkLimits() {}

    /**
     * What somebody should know who set limits, a sentence for each device.
     *
     * @param machine the machine, by its number in the plan
     * @param topology that machine, as the search saw it
     */
    public static List<String> notes(Plan plan, int machine, Topology topology) {
        List<String> notes = new ArrayList<>();
        for (Node node : topology.nodes()) {
            if (node instanceof Node.Net net) {
                if (net.maxConnections() == 0) {
                    notes.add(describe(net) + ": no channel uses it");
                } else if (most(plan, machine, net, plan.channels()) > net.maxConnections()) {
                    notes.add(describe(net) + ": " + most(plan, machine, net, plan.channels())
                            + " channels of the plan use it, because each that was found is carried by several;"
                            + " JCCL_MAX_NCHANNELS=" + channelsWithin(plan, machine, net) + " keeps to the limit");
                }
            }
        }
        return notes;
    }

    private static String describe(Node.Net net) {
        String device = net.device().isEmpty() ? "" : " (" + net.device() + ")";
        return net.name() + device + " maxconn=" + net.maxConnections();
    }

    /** The largest number of channels with which the device has no more than it allows. */
    private static int channelsWithin(Plan plan, int machine, Node.Net net) {
        int channels = plan.channels();
        while (most(plan, machine, net, channels) > net.maxConnections()) {
            channels--;
        }
        return channels;
    }

    /** How many rings, or trees if these are more, of the first channels use a device. */
    private static int most(Plan plan, int machine, Node.Net net, int channels) {
        return Math.max(
                through(channels, net.dev(), channel -> plan.ringRail(channel, machine)),
                through(channels, net.dev(), channel -> plan.treeRail(channel, machine)));
    }

    private static int through(int channels, int dev, IntFunction<Optional<Rail>> railOf) {
        return (int) IntStream.range(0, channels)
                .mapToObj(railOf)
                .flatMap(Optional::stream)
                .filter(rail -> rail.in() == dev || rail.out() == dev)
                .count();
    }
}
