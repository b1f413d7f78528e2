package io.jccl.runtime;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * When operations were issued that waited in the queue behind others, by sequence number. What is executed as soon as it is
 * issued needs no time of its own: it is when the operation began. Written by the thread that has the right to run.
 */
final class IssueTimes {

    private static final int KEPT = 1024;

    private volatile AtomicLongArray times; // sequence and time by turns; null until one is kept

    /** An operation that was issued then has the sequence number. */
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

    /** When the operation was issued, or when it began if that is not kept. */
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
