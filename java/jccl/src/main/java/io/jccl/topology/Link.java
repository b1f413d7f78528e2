package io.jccl.topology;

/**
 * A directed link; the reverse is a link of its own.
 *
 * @param type what it is made of
 * @param bandwidthGBps what it carries in GB/s
 * @param to the index of the node it leads to
 */
public record Link(LinkType type, double bandwidthGBps, int to) {

    // Every initialisation compares links. What a record has by itself is generated at its first use, which takes a new
    // JVM
    // several milliseconds.

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
