package io.jccl.search;

/**
 * The network devices of a channel on one host. Devices of one number on different hosts are taken to be on one rail,
 * which is to say on one switch.
 *
 * @param in the number of the device that it comes in by
 * @param out the number of the device that it leaves by
 */
public record Rail(int in, int out) {

    /** Refuses numbers that no device has. */
    public Rail {
        if (in < 0 || out < 0) {
            throw new IllegalArgumentException("in=" + in + " out=" + out + ": network devices are numbered from 0");
        }
    }
}
