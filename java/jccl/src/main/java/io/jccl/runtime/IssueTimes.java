package io.jccl.runtime;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Issue times of operations that waited in the queue behind others, by sequence number. An operation that is executed
 * as soon as it is issued needs no entry: it begins when it is issued. Written by the thread that has the right to run.
 */
final class IssueTimes {

    private static final int KEPT = 1024;

    private volatile AtomicLongArray times; // pairs of sequence number and time; null until the first is kept

    /** Keeps the time at which the operation with the given sequence number was issued. */
    void keep(long sequence, long issuedNanos) {
        AtomicLongArray there = times;
        if (there == null) {
            there = new AtomicLongArray(2 * KEPT);
            times = there;
        }
        int at = at(sequence);
        there.setRelease(at, 0);
        there.setRelease(at + 1, issuedNanos);
        there.setRelease(at, sequence);
    }

    /** Returns the time at which the operation was issued; {@code begunNanos} if that time is not kept. */
    long issued(long sequence, long begunNanos) {
        AtomicLongArray there = times;
        int at = at(sequence);
        if (there == null || there.getAcquire(at) != sequence) {
            return begunNanos;
        }
        long issued = there.getAcquire(at + 1);
        return there.getAcquire(at) == sequence && issued - begunNanos < 0 ? issued : begunNanos;
    }

    private static int at(long sequence) {
        return 2 * (int) (sequence & (KEPT - 1));
    }
}
