package io.jccl.search;

/**
 * The network devices of a channel on one host. Devices with the same number on different hosts are assumed to be on
 * one rail, that is, on one switch.
 *
 * @param in the number of the device by which the channel enters
 * @param out the number of the device by which it leaves
 */
public record Rail(int in, int out) {

    public Rail {
        if (in < 0 || out < 0) {
            throw new IllegalArgumentException("in=" + in + " out=" + out + ": network devices are numbered from 0");
        }
    }
}
