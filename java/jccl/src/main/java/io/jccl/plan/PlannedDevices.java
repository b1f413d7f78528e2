package io.jccl.plan;

import io.jccl.search.Rail;
import java.util.ArrayList;
import java.util.List;

/** Which network devices carry the connections between hosts, by a plan. */
public final class PlannedDevices {

    /** Where the plan knows no device. */
    public static final int UNKNOWN = -1;

    private PlannedDevices() {}

    /**
     * One path of a channel from a rank to one on another host.
     *
     * @param channel the channel
     * @param from the rank that sends
     * @param to the rank that receives
     * @param out the number of the device by which it leaves the one host, or {@link #UNKNOWN}
     * @param in the number of the device by which it comes into the other, or {@link #UNKNOWN}
     */
    public record NetworkPath(int channel, int from, int to, int out, int in) {}

    /** The paths of a channel that begin or end at a rank: those of its ring, then those of its tree. */
    public static List<NetworkPath> of(Plan plan, int channel, int rank) {
        List<NetworkPath> paths = new ArrayList<>();
        addRing(plan, channel, rank, paths);
        addTree(plan, channel, rank, paths);
        return paths;
    }

    /**
     * Any other path of a channel out of a host, and into it: by the devices of its ring.
     *
     * @param rank of the host; stands at both ends of the result
     */
    public static NetworkPath ofOthers(Plan plan, int channel, int rank) {
        return new NetworkPath(channel, rank, rank, ringOut(plan, channel, rank), ringIn(plan, channel, rank));
    }

    private static void addRing(Plan plan, int channel, int rank, List<NetworkPath> paths) {
        int[] ring = plan.ring(channel);
        int at = 0;
        while (ring[at] != rank) {
            at++;
        }
        addRing(plan, channel, ring[(at + ring.length - 1) % ring.length], rank, paths);
        addRing(plan, channel, rank, ring[(at + 1) % ring.length], paths);
    }

    private static void addRing(Plan plan, int channel, int from, int to, List<NetworkPath> paths) {
        if (!plan.sameHost(from, to)) {
            paths.add(new NetworkPath(channel, from, to, ringOut(plan, channel, from), ringIn(plan, channel, to)));
        }
    }

    private static int ringOut(Plan plan, int channel, int rank) {
        return plan.ringRail(channel, plan.hostOf(rank).index()).map(Rail::out).orElse(UNKNOWN);
    }

    private static int ringIn(Plan plan, int channel, int rank) {
        return plan.ringRail(channel, plan.hostOf(rank).index()).map(Rail::in).orElse(UNKNOWN);
    }

    /** Sums go up by the path by which they come down. */
    private static void addTree(Plan plan, int channel, int rank, List<NetworkPath> paths) {
        TreeLinks links = plan.tree(channel, rank);
        List<Integer> neighbours = new ArrayList<>(links.down());
        if (!links.isRoot()) {
            neighbours.add(links.up());
        }
        for (int other : neighbours) {
            if (!plan.sameHost(rank, other)) {
                int here = treeDevice(plan, channel, rank);
                int there = treeDevice(plan, channel, other);
                paths.add(new NetworkPath(channel, rank, other, here, there));
                paths.add(new NetworkPath(channel, other, rank, there, here));
            }
        }
    }

    /** The first rank of the chain inside a host uses the one device, further ones the other. */
    private static int treeDevice(Plan plan, int channel, int rank) {
        TreeLinks links = plan.tree(channel, rank);
        boolean first = links.isRoot() || !plan.sameHost(rank, links.up());
        return plan.treeRail(channel, plan.hostOf(rank).index())
                .map(first ? Rail::in : Rail::out)
                .orElse(UNKNOWN);
    }
}
