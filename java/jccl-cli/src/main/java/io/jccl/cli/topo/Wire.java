package io.jccl.cli.topo;

import io.jccl.topology.LinkType;

/**
 * A link of a host, with both of its directions.
 *
 * @param type its type
 * @param one name of the node at which it was found first
 * @param other name of the node at its other end
 * @param there GB/s from one to other, or 0 if it leads only the other way
 * @param back GB/s from other to one, or 0 if it leads only the other way
 */
public record Wire(LinkType type, String one, String other, double there, double back) {

    /** Returns the bandwidth in GB/s of the direction that has more. */
    public double bandwidthGBps() {
        return Math.max(there, back);
    }

    /** Returns true if a node is at one end of the link. */
    public boolean touches(String node) {
        return one.equals(node) || other.equals(node);
    }

    /** Returns the name of the node at the end of the link opposite to a node. */
    public String opposite(String node) {
        return one.equals(node) ? other : one;
    }

    /** Returns true if the link limits nothing: it is inside a device, or was assumed because none is known. */
    public boolean isInside() {
        return label().contains(Numbers.INSIDE);
    }

    /** Returns the link's bandwidth for people: one number, or two if the directions differ. */
    public String label() {
        return there == back ? Numbers.bandwidth(there) : Numbers.bandwidth(there) + "/" + Numbers.bandwidth(back);
    }
}
