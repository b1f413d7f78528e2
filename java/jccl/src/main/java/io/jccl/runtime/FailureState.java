package io.jccl.runtime;

import io.jccl.AbortedException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.JcclException;
import io.jccl.MismatchedCollectiveException;
import io.jccl.PeerFailedException;
import io.jccl.TransportException;
import io.jccl.control.ControlNetwork;
import io.jccl.control.FailureListener;
import io.jccl.control.FailureReport;
import io.jccl.control.ReportKind;
import io.jccl.events.JfrEvents;
import io.jccl.events.LogContext;
import io.jccl.init.ConnectedDevice;
import io.jccl.internal.PlainText;
import io.jccl.internal.Rethrown;
import io.jccl.nativelib.Code;
import io.jccl.nativelib.NativeEngine;
import io.jccl.wire.LastEntered;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The failure of a communicator on this rank, if it has failed. A communicator fails once; the first cause stays.
 *
 * <p>The error of an operation is only this rank's own view. The rank reports it and waits for the agreed failure,
 * which all ranks receive and which becomes the cause. If none arrives in time, this rank's own view becomes the cause
 * and blames the coordinator's rank, which has not answered.
 */
final class FailureState implements FailureListener {

    private static final Logger LOG = LoggerFactory.getLogger(FailureState.class);

    /**
     * Minimum wait for the agreed failure. The coordinator answers within about a second, later on an overloaded host.
     */
    private static final Duration MIN_AGREEMENT = Duration.ofSeconds(3);

    private static final Duration MAX_AGREEMENT = Duration.ofSeconds(30);
    private static final long MIN_SLEEP_NANOS = 50_000;
    private static final long MAX_SLEEP_NANOS = 1_000_000;

    private static final int COORDINATOR = 0;
    private static final int MAX_REASON = 500; // characters of an application's reason

    private final String communicator;
    private final int rank;
    private final NativeEngine engine;
    private final Optional<ConnectedDevice> device;
    private final ControlNetwork control;
    private final AtomicReference<Failure> failure = new AtomicReference<>();
    private final AtomicBoolean dumps = new AtomicBoolean();
    private final FailureListeners listeners;
    private volatile boolean unsettled; // true if an error of the JVM has interrupted settle()
    private volatile Supplier<String> inFlight = () -> "";
    private volatile FlightRecorder recorder; // null until the communicator has started

    FailureState(
            String communicator,
            int rank,
            NativeEngine engine,
            Optional<ConnectedDevice> device,
            ControlNetwork control) {
        this.communicator = communicator;
        this.rank = rank;
        this.engine = engine;
        this.device = device;
        this.control = control;
        this.listeners = new FailureListeners(rank);
    }

    /** Sets the function that describes the operation in flight and its age in messages; "" if none is in flight. */
    void describeWith(Supplier<String> description) {
        inFlight = description;
    }

    /**
     * Sets the recorder that dumps this rank's last operations when the communicator fails; see
     * {@link FlightRecorder#onFailure}.
     */
    void dumpWith(FlightRecorder writer) {
        recorder = writer;
    }

    private void dump(Failure mine) {
        if (!dumps.compareAndSet(false, true)) {
            return;
        }
        FlightRecorder writer = recorder;
        if (writer == null) {
            mine.dumped().complete(null);
        } else {
            writer.onFailure(mine.first(), mine.dumped());
        }
    }

    private void report(JcclException cause) {
        JfrEvents.failed(
                communicator,
                rank,
                cause.getClass().getSimpleName(),
                String.valueOf(cause.getMessage()),
                Failure.ranksOf(cause).toString());
    }

    /** Returns the failure of the communicator, or null. */
    Failure current() {
        return failure.get();
    }

    /** Calls the listener with the cause, on a thread of its own, when the communicator fails; now if it has failed. */
    void onFailure(Consumer<? super JcclException> listener) {
        listeners.add(listener);
    }

    /** Called by the watchdog. Repeats the steps after a failure that an error of the JVM has interrupted. */
    void check() {
        Failure mine = failure.get();
        if (mine != null && unsettled) {
            settle(mine);
        }
        listeners.start();
    }

    /** Throws if the communicator has failed. */
    void requireNone() {
        Failure cause = failure.get();
        if (cause != null) {
            throw cause.exception();
        }
    }

    /** Ends all waits inside the engines. Allocates nothing. */
    @Override
    public void stopOperations() {
        engine.abort(Code.ABORTED);
        if (device.isPresent()) {
            device.get().abort(Code.ABORTED);
        }
    }

    @Override
    public void onBreakDown(String text, Throwable error) {
        fail(new JcclException(text, error));
    }

    @Override
    @SuppressWarnings("try") // the log context has its effect while it is open
    public void onFailure(FailureReport agreed) {
        try (LogContext logs = LogContext.of(rank, communicator)) {
            JcclException cause = agreed.toException();
            String operation = inFlight.get();
            fail(
                    operation.isEmpty()
                            ? cause
                            : Rethrown.like(
                                    cause,
                                    cause.getMessage() + "\n  rank=" + rank + " got this report during " + operation,
                                    null));
        }
    }

    /**
     * Fails the communicator because the application aborts it.
     *
     * @param reason the application's reason, of any length and content; null or blank if it gives none
     */
    void abort(@Nullable String reason) {
        String text = "rank=" + rank + " aborted the communicator";
        abortFor(reason == null || reason.isBlank() ? text : text + ": " + PlainText.of(reason, MAX_REASON));
    }

    /** Fails the communicator because the application cancels an operation. */
    void cancelled(String operation) {
        abortFor("rank=" + rank + " cancelled " + operation);
    }

    private void abortFor(String text) {
        abort(new Failure(new AbortedException(text + "; initialise a new communicator to continue")), text);
    }

    /** Fails the communicator because a thread's deadline passed while another thread executes the operation. */
    void timedOut(String operation) {
        ended(Code.TIMEOUT, operation, engine.lastEntered(), 0, engine::lastError);
    }

    /**
     * Fails the communicator because an operation ended with an error of the native interface. Waits for the agreed
     * failure.
     *
     * @param status the code of the error
     * @param sequence the operation's sequence number, or that of the preceding collective if the operation has none
     * @param timeoutNanos the operation's time-out
     * @return the failure of the communicator
     */
    Failure ended(int status, String operation, long sequence, long timeoutNanos) {
        return ended(status, operation, sequence, timeoutNanos, engine::lastError);
    }

    /**
     * Like {@link #ended(int, String, long, long)}, for an operation on a device.
     *
     * @param sequence the operation's number in the device's sequence; if an earlier operation failed first, that
     *     operation's number
     * @param timeoutNanos the operation's time-out
     */
    Failure endedOnDevice(int status, String operation, long sequence, long timeoutNanos) {
        return ended(status, operation, LastEntered.onDevice(sequence), timeoutNanos, () -> device.orElseThrow()
                .lastError());
    }

    /**
     * Like {@link #ended(int, String, long, long)}, for a call that is no operation of the engine.
     *
     * @param detail returns the reason of the error
     */
    Failure ended(int status, String operation, long sequence, long timeoutNanos, Supplier<String> detail) {
        Failure cause = failure.get();
        if (cause != null) {
            return cause;
        }
        String text = operation + " on rank=" + rank + ": " + detail.get();
        if (status == Code.TIMEOUT) {
            control.timedOut(sequence, Duration.ofNanos(timeoutNanos), text);
        } else if (status != Code.ABORTED) {
            control.report(kind(status), sequence, text);
        }
        long start = System.nanoTime();
        awaitAgreedFailure();
        cause = failure.get();
        return cause != null ? cause : fail(ownView(status, text, Duration.ofNanos(System.nanoTime() - start)));
    }

    /**
     * Reports an error of the native interface that no call of this rank has met. The communicator fails once the ranks
     * agree.
     *
     * @param status the code of the error
     */
    void reportUnmet(int status, String text) {
        control.report(kind(status), engine.lastEntered(), text + " on rank=" + rank + ": " + engine.lastError());
    }

    /**
     * Fails the communicator because a thread was interrupted while it waited for something that has begun. The other
     * ranks must not wait for this one.
     */
    void interrupted(String operation) {
        if (failure.get() != null) {
            return;
        }
        String text = operation + " on rank=" + rank + ": the thread that waits was interrupted";
        abort(Failure.byInterrupt(new AbortedException(text + "; initialise a new communicator to continue")), text);
    }

    /**
     * Fails the communicator because an exception broke off an operation. The other ranks must not wait for this one.
     */
    Failure broken(OperationWork operation, Throwable problem) {
        try {
            return broken(operation.describe(), problem);
        } catch (StackOverflowError e) {
            throw e; // the watchdog calls this again, on a stack that is not exhausted
        } catch (Error e) {
            control.breakDown(problem); // allocates nothing; the communicator fails once there is memory
            throw e;
        }
    }

    private Failure broken(String operation, Throwable problem) {
        Failure before = failure.get();
        if (before != null) {
            return before;
        }
        String text = operation + " on rank=" + rank + " broke off: " + problem;
        return abort(new Failure(new JcclException(text, problem)), text);
    }

    /**
     * Waits for the agreed failure. After {@link #MIN_AGREEMENT}, continues to wait only while this rank still receives
     * messages of the coordinator.
     */
    private void awaitAgreedFailure() {
        long soonest = Deadlines.after(MIN_AGREEMENT);
        IdleStrategy.await(
                () -> failure.get() != null || System.nanoTime() - soonest >= 0 && control.coordinatorIsSilent(),
                Deadlines.after(MAX_AGREEMENT),
                MIN_SLEEP_NANOS,
                MAX_SLEEP_NANOS);
    }

    private Failure fail(JcclException cause) {
        return fail(new Failure(cause));
    }

    private Failure fail(Failure mine) {
        if (failure.compareAndSet(null, mine) || unsettled) {
            settle(failure.get());
        }
        return failure.get();
    }

    /**
     * Fails the communicator, and reports that to all ranks before any wait ends on this rank. Otherwise the
     * application could tell another rank of the failure, and that rank's own report would arrive first.
     */
    private Failure abort(Failure mine, String text) {
        boolean first = failure.compareAndSet(null, mine);
        try {
            control.report(ReportKind.ABORT, engine.lastEntered(), text);
        } finally {
            if (first || unsettled) {
                settle(failure.get());
            }
        }
        return failure.get();
    }

    /**
     * Dumps the last operations, ends all waits, calls the listeners and records the failure for JDK Flight Recorder.
     * After an error of the JVM all steps are repeated, so each step must tolerate a second call.
     */
    private void settle(Failure mine) {
        unsettled = false;
        try {
            dump(mine); // before the waits end, because the dump must show them
            stopOperations();
            listeners.fail(mine.first());
            report(mine.first());
        } catch (Error e) {
            unsettled = true;
            throw e;
        }
    }

    private static ReportKind kind(int status) {
        return switch (status) {
            case Code.MISMATCH -> ReportKind.MISMATCH;
            case Code.TRANSPORT -> ReportKind.TRANSPORT;
            default -> ReportKind.ABORT;
        };
    }

    private JcclException ownView(int status, String text, Duration waited) {
        boolean lost = rank != COORDINATOR;
        String unanswered = lost
                ? text + "; rank=" + COORDINATOR + ", which coordinates, did not answer within " + waited.toMillis()
                        + " ms: it or its host is gone, or the network does not connect both directions"
                : text;
        Set<Integer> silent = lost ? Set.of(COORDINATOR) : Set.of();
        return switch (status) {
            case Code.TIMEOUT -> new CommunicationTimeoutException(unanswered, silent, null);
            case Code.MISMATCH -> new MismatchedCollectiveException(text, List.of(), null);
            case Code.TRANSPORT -> lost
                    ? new PeerFailedException(unanswered, silent, null)
                    : new TransportException(text);
            case Code.ABORTED -> new AbortedException(text);
            default -> new JcclException(text + " (status=" + status + ")");
        };
    }
}
