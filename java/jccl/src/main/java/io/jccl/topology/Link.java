package io.jccl.topology;

/**
 * A directed link. The opposite direction is a separate link.
 *
 * @param type the technology of the link
 * @param bandwidthGBps its bandwidth in GB/s
 * @param to the index of the node at its end
 */
public record Link(LinkType type, double bandwidthGBps, int to) {

    // The methods are written out to save time: every initialisation compares links, and the JVM generates a record's
    // default methods at their first use, which takes a new JVM several milliseconds.

    @Override
    public boolean equals(Object other) {
        return other instanceof Link that
                && type == that.type
                && Double.compare(bandwidthGBps, that.bandwidthGBps) == 0
                && to == that.to;
    }

    @Override
    public int hashCode() {
        return 31 * (31 * type.ordinal() + Double.hashCode(bandwidthGBps)) + to;
    }
}
