package io.jccl.runtime;

import io.jccl.nativelib.NativeDeviceStaging;
import java.util.Arrays;

/** What an operation puts on its stream, in order. Neighbouring copies that continue each other are one. */
final class StagingSteps {

    private static final int LENGTH = NativeDeviceStaging.STEP_LENGTH;

    private long[] rows = new long[8 * LENGTH];
    private int count;
    private long mark;
    private long gate;

    /** Marks and gates are numbered from these on. */
    StagingSteps(long mark, long gate) {
        this.mark = mark;
        this.gate = gate;
    }

    void copy(long to, long from, long bytes) {
        if (bytes == 0) {
            return;
        }
        int last = (count - 1) * LENGTH;
        if (count != 0
                && rows[last] == NativeDeviceStaging.COPY
                && rows[last + 1] + rows[last + 3] == to
                && rows[last + 2] + rows[last + 3] == from) {
            rows[last + 3] += bytes;
        } else {
            add(NativeDeviceStaging.COPY, to, from, bytes);
        }
    }

    /** Returns the number of the mark. */
    long mark() {
        add(NativeDeviceStaging.SIGNAL, 0, 0, mark);
        return mark++;
    }

    /** Returns the number of the gate. */
    long gate() {
        add(NativeDeviceStaging.WAIT, 0, 0, gate);
        return gate++;
    }

    private void add(int kind, long to, long from, long value) {
        int at = count * LENGTH;
        if (at == rows.length) {
            rows = Arrays.copyOf(rows, 2 * rows.length);
        }
        rows[at] = kind;
        rows[at + 1] = to;
        rows[at + 2] = from;
        rows[at + 3] = value;
        count++;
    }

    /** {@link NativeDeviceStaging#STEP_LENGTH} numbers for each of {@link #count} steps, and perhaps more. */
    long[] rows() {
        return rows;
    }

    int count() {
        return count;
    }

    /** The number of the mark after the last. */
    long nextMark() {
        return mark;
    }

    /** The number of the gate after the last. */
    long nextGate() {
        return gate;
    }
}
