package io.jccl.runtime;

import io.jccl.nativelib.DeviceStaging;
import java.util.Arrays;

/**
 * The steps that an operation puts on its stream, in order. A copy that continues the preceding one is merged with it.
 */
final class StreamSteps {

    private static final int LENGTH = DeviceStaging.STEP_LENGTH;

    private long[] rows = new long[8 * LENGTH];
    private int count;
    private long signal;
    private long wait;

    /**
     * @param signal number of the first signal
     * @param wait number of the first wait
     */
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

    /** Adds a signal to the host that the stream has come this far. */
    void signal() {
        add(DeviceStaging.SIGNAL, 0, 0, signal++);
    }

    /** Adds a wait, which holds the stream until the host ends it. */
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

    /** Returns {@link DeviceStaging#STEP_LENGTH} numbers for each of {@link #count} steps; the array may be longer. */
    long[] rows() {
        return rows;
    }

    int count() {
        return count;
    }

    /** Returns the number that the next signal would have. */
    long nextSignal() {
        return signal;
    }

    /** Returns the number that the next wait would have. */
    long nextWait() {
        return wait;
    }
}
