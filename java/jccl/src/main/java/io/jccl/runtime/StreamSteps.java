package io.jccl.runtime;

import io.jccl.nativelib.DeviceStaging;
import java.util.Arrays;

/** What an operation puts on its stream, in order. Neighbouring copies that continue each other are one. */
final class StreamSteps {

    private static final int LENGTH = DeviceStaging.STEP_LENGTH;

    private long[] rows = new long[8 * LENGTH];
    private int count;
    private long signal;
    private long wait;

    /** Signals and waits are numbered from these on. */
    StreamSteps(long signal, long wait) {
        this.signal = signal;
        this.wait = wait;
    }

    void copy(long to, long from, long bytes) {
        if (bytes == 0) {
            return;
        }
        int last = (count - 1) * LENGTH;
        if (count != 0
                && rows[last + DeviceStaging.STEP_KIND] == DeviceStaging.COPY
                && rows[last + DeviceStaging.STEP_TO] + rows[last + DeviceStaging.STEP_NUMBER] == to
                && rows[last + DeviceStaging.STEP_FROM] + rows[last + DeviceStaging.STEP_NUMBER] == from) {
            rows[last + DeviceStaging.STEP_NUMBER] += bytes;
        } else {
            add(DeviceStaging.COPY, to, from, bytes);
        }
    }

    /** Signals the host that the stream has come so far. */
    void signal() {
        add(DeviceStaging.SIGNAL, 0, 0, signal++);
    }

    /** Holds the stream until the host ends the wait. */
    void waitForHost() {
        add(DeviceStaging.WAIT, 0, 0, wait++);
    }

    private void add(int kind, long to, long from, long value) {
        int at = count * LENGTH;
        if (at == rows.length) {
            rows = Arrays.copyOf(rows, 2 * rows.length);
        }
        rows[at + DeviceStaging.STEP_KIND] = kind;
        rows[at + DeviceStaging.STEP_TO] = to;
        rows[at + DeviceStaging.STEP_FROM] = from;
        rows[at + DeviceStaging.STEP_NUMBER] = value;
        count++;
    }

    /** {@link DeviceStaging#STEP_LENGTH} numbers for each of {@link #count} steps, and perhaps more. */
    long[] rows() {
        return rows;
    }

    int count() {
        return count;
    }

    /** The number of the signal after the last. */
    long nextSignal() {
        return signal;
    }

    /** The number of the wait after the last. */
    long nextWait() {
        return wait;
    }
}
