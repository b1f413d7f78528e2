package io.jccl.search;

/**
 * The network devices of a channel on one host. Devices of one number on different hosts are taken to be on one rail,
 * which is to say on one switch.
 *
 * @param in the number of the device that it comes in by
 * @param out the number of the device that it leaves by
 * @param reduces whether the network behind both can reduce ({@code coll})
 */
public record Rail(int in, int out, boolean reduces) {

    /** Devices of a network that does not reduce. */
    public Rail(int in, int out) {
        this(in, out, false);
    }

    /** Refuses numbers that no device has. */
    public Rail {
        if (in < 0 || out < 0) {
            throw new IllegalArgumentException("in=" + in + " out=" + out + ": network devices are numbered from 0");
        }
    }
}
