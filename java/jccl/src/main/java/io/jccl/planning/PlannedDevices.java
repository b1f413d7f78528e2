package io.jccl.planning;

import io.jccl.search.Rail;
import java.util.ArrayList;
import java.util.List;

/** Determines the network devices that carry the connections between hosts according to a plan. */
public final class PlannedDevices {

    /** Number of a device that the plan does not know. */
    public static final int UNKNOWN = -1;

    private PlannedDevices() {}

    /**
     * One path of a channel from a rank to a rank on another host.
     *
     * @param channel the channel
     * @param from the rank that sends
     * @param to the rank that receives
     * @param out the number of the device by which the path leaves the sender's host, or {@link #UNKNOWN}
     * @param in the number of the device by which the path enters the receiver's host, or {@link #UNKNOWN}
     */
    public record NetworkPath(int channel, int from, int to, int out, int in) {}

    /** Returns the paths of a channel that begin or end at a rank: first those of the ring, then those of the tree. */
    public static List<NetworkPath> of(Plan plan, int channel, int rank) {
        List<NetworkPath> paths = new ArrayList<>();
        addRing(plan, channel, rank, paths);
        addTree(plan, channel, rank, paths);
        return paths;
    }

    /**
     * Returns the devices for data of a channel that travels along neither its ring nor its tree. Such data leaves and
     * enters a host by the devices of the ring.
     *
     * @param rank a rank of the host; in the result it is both the sender and the receiver
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

    /** Adds the paths of the tree. Sums travel up over the same devices over which results travel down. */
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

    /**
     * Returns the device of a rank in the tree: the entry device for the first rank of the chain inside a host, the
     * exit device for others.
     */
    private static int treeDevice(Plan plan, int channel, int rank) {
        TreeLinks links = plan.tree(channel, rank);
        boolean first = links.isRoot() || !plan.sameHost(rank, links.up());
        return plan.treeRail(channel, plan.hostOf(rank).index())
                .map(first ? Rail::in : Rail::out)
                .orElse(UNKNOWN);
    }
}
