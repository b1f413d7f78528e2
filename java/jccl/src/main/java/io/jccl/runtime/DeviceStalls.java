package io.jccl.runtime;

import io.jccl.bootstrap.ControlNetwork;
import io.jccl.bootstrap.LastEntered;
import io.jccl.bootstrap.ReportKind;
import io.jccl.nativelib.DeviceEngine;

/** The same as {@link Stalls} for collectives on a device, which nobody need wait for. */
final class DeviceStalls implements Watch.Watched {

    private static final long NONE = 0;

    private final DeviceEngine engine;
    private final EngineStatus status;
    private final ControlNetwork control;
    private volatile long seen; // the oldest that is not done
    private volatile long seenSinceNanos;
    private long reportAtNanos;

    DeviceStalls(DeviceEngine engine, EngineStatus status, ControlNetwork control) {
        this.engine = engine;
        this.status = status;
        this.control = control;
    }

    @Override
    public void tick(long nowNanos) {
        long oldest = oldest();
        if (oldest != seen) {
            seenSinceNanos = nowNanos;
            seen = oldest;
            reportAtNanos = nowNanos + Stalls.STALLED_NANOS;
        } else if (oldest != NONE && nowNanos - reportAtNanos >= 0) {
            reportAtNanos = nowNanos + Stalls.REPEAT_NANOS;
            control.report(ReportKind.STALLED, LastEntered.onDevice(oldest), describe(oldest) + " is slow");
        }
    }

    /** The oldest operation that is not done, with its age, or an empty text. */
    String describe() {
        long oldest = oldest();
        if (oldest == NONE) {
            return "";
        }
        long millis = oldest == seen ? (System.nanoTime() - seenSinceNanos) / 1_000_000 : 0;
        return describe(oldest) + " elapsed=" + millis + "ms";
    }

    private String describe(long sequence) {
        return status.recordAt(LastEntered.onDevice(sequence))
                .map(it -> it.operation().describe())
                .orElse("sequence=" + sequence);
    }

    private long oldest() {
        long done = engine.lastDone();
        return done < engine.lastEntered() && engine.failedSequence() == 0 ? done + 1 : NONE;
    }
}
