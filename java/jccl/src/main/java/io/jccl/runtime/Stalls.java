package io.jccl.runtime;

import io.jccl.bootstrap.ControlNetwork;
import io.jccl.bootstrap.ReportKind;
import io.jccl.nativelib.NativeEngine;

/**
 * Notices that an operation takes long and reports it, so that ranks in different operations are found without waiting for
 * a time-out. Knows how long the operation in flight has taken, to the precision of a tick.
 */
final class Stalls implements Watch.Watched {

    static final long STALLED_NANOS = 250_000_000;
    static final long REPEAT_NANOS = 2_000_000_000;

    private final OperationQueue queue;
    private final NativeEngine engine;
    private final ControlNetwork control;
    private volatile Operation seen;
    private volatile long seenSinceNanos;
    private long reportAtNanos;

    Stalls(OperationQueue queue, NativeEngine engine, ControlNetwork control) {
        this.queue = queue;
        this.engine = engine;
        this.control = control;
    }

    @Override
    public void tick(long nowNanos) {
        Operation now = queue.inFlight();
        if (now == null || now.isOver()) {
            seen = null;
        } else if (now != seen) {
            seenSinceNanos = nowNanos;
            reportAtNanos = nowNanos + STALLED_NANOS;
            seen = now;
        } else if (nowNanos - reportAtNanos >= 0) {
            reportAtNanos = nowNanos + REPEAT_NANOS;
            control.report(ReportKind.STALLED, engine.lastEntered(), now.describe() + " is slow");
        }
    }

    /** The operation in flight with its age, or an empty text. */
    String describe() {
        Operation now = queue.inFlight();
        if (now == null || now.isOver()) {
            return "";
        }
        long millis = now == seen ? (System.nanoTime() - seenSinceNanos) / 1_000_000 : 0;
        return now.describe() + " sequence=" + engine.lastEntered() + " elapsed=" + millis + "ms";
    }
}
