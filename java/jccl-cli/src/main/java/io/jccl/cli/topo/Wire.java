package io.jccl.cli.topo;

import io.jccl.topology.LinkType;

/**
 * A link of a host, both directions seen as one.
 *
 * @param type what it is made of
 * @param one the name of the node it was found at first
 * @param other the name of the node at its other end
 * @param there GB/s from one to other, 0 where it leads the other way only
 * @param back GB/s from other to one, 0 where it leads one way only
 */
public record Wire(LinkType type, String one, String other, double there, double back) {

    /** The wider of its two directions in GB/s. */
    public double bandwidthGBps() {
        return Math.max(there, back);
    }

    /** Whether this node is at one of its ends. */
    public boolean touches(String node) {
        return one.equals(node) || other.equals(node);
    }

    /** The name of the node at the end away from this one. */
    public String opposite(String node) {
        return one.equals(node) ? other : one;
    }

    /** Whether it is inside a device, or made up where none is known, and limits nothing. */
    public boolean isInside() {
        return label().contains(Numbers.INSIDE);
    }

    /** Its bandwidth for people: one number, or two where its directions differ. */
    public String label() {
        return there == back ? Numbers.bandwidth(there) : Numbers.bandwidth(there) + "/" + Numbers.bandwidth(back);
    }
}
