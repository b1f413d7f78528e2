package io.jccl.runtime;

import io.jccl.control.ControlNetwork;
import io.jccl.control.ReportKind;
import io.jccl.nativelib.DeviceEngine;
import io.jccl.nativelib.NativeEngine;
import io.jccl.status.CommunicatorView;
import io.jccl.wire.LastEntered;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.LongPredicate;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;

/**
 * Reports an operation that takes long, so that ranks in different operations are found before a time-out. Measures the
 * time of the operation in flight, to the precision of a watchdog's tick.
 *
 * @param <T> type that identifies an operation
 */
final class StallDetector<T> implements Watchdog.Watched {

    private static final long REPEAT_NANOS = 2_000_000_000;

    private final Supplier<T> inFlight; // supplies null if no operation is in flight
    private final ToLongFunction<T> sequence;
    private final Function<T, String> name;
    private final Function<T, String> details;
    private final ControlNetwork control;
    private volatile T seen;
    private volatile long seenSinceNanos;
    private long reportAtNanos;

    private StallDetector(
            Supplier<T> inFlight,
            ToLongFunction<T> sequence,
            Function<T, String> name,
            Function<T, String> details,
            ControlNetwork control) {
        this.inFlight = inFlight;
        this.sequence = sequence;
        this.name = name;
        this.details = details;
        this.control = control;
    }

    /** Returns a detector for operations of the queue. */
    static StallDetector<OperationWork> ofQueue(OperationQueue queue, ControlNetwork control) {
        NativeEngine engine = queue.engine();
        return new StallDetector<>(
                () -> {
                    OperationWork now = queue.inFlight();
                    return now == null || now.isOver() ? null : now;
                },
                work -> engine.lastEntered(),
                OperationWork::describe,
                work -> work.describe() + " sequence=" + engine.lastEntered(),
                control);
    }

    /**
     * Returns a detector for collectives that kernels execute. The oldest one that is not done counts as the one in
     * flight, even if no thread waits for it.
     */
    static StallDetector<Long> ofDevice(DeviceEngine engine, EngineStatus status, ControlNetwork control) {
        Function<Long, String> name = sequence -> status.recordAt(LastEntered.onDevice(sequence))
                .map(it -> it.operation().describe())
                .orElse("sequence=" + sequence);
        return new StallDetector<>(
                () -> {
                    long done = engine.lastDone();
                    return done < engine.lastEntered() && engine.failedSequence() == 0 ? done + 1 : null;
                },
                LastEntered::onDevice,
                name,
                name,
                control);
    }

    @Override
    public void tick(long nowNanos) {
        T now = inFlight.get();
        if (now == null) {
            seen = null;
        } else if (!now.equals(seen)) {
            seenSinceNanos = nowNanos;
            reportAtNanos = nowNanos + CommunicatorView.UnderWay.LONG_NANOS;
            seen = now;
        } else if (nowNanos - reportAtNanos >= 0) {
            reportAtNanos = nowNanos + REPEAT_NANOS;
            control.report(ReportKind.STALLED, sequence.applyAsLong(now), name.apply(now) + " is slow");
        }
    }

    /** Describes the operation in flight and its age; an empty text if there is none. */
    String describe() {
        T now = inFlight.get();
        return now == null ? "" : details.apply(now) + " elapsed=" + elapsedNanos(now) / 1_000_000 + "ms";
    }

    private long elapsedNanos(T now) {
        return now.equals(seen) ? System.nanoTime() - seenSinceNanos : 0;
    }

    /**
     * Returns the operation in flight, for the status server. The sequence number in the result is 0 if
     * {@code isRunning} returns false for the operation.
     */
    Optional<CommunicatorView.UnderWay> underWay(LongPredicate isRunning) {
        T now = inFlight.get();
        if (now == null) {
            return Optional.empty();
        }
        long number = sequence.applyAsLong(now);
        return Optional.of(
                new CommunicatorView.UnderWay(name.apply(now), isRunning.test(number) ? number : 0, elapsedNanos(now)));
    }
}
