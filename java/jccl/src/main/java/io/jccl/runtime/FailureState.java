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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether a communicator has failed, and why. It fails once; the first cause stays.
 *
 * <p>What this rank sees is only its own view: it reports it, and the agreed failure that all ranks get is the cause. Only
 * if none comes in time is this rank's own view the cause, and the coordinator's rank, which did not answer, to blame.
 */
final class FailureState implements FailureListener {

    private static final Logger LOG = LoggerFactory.getLogger(FailureState.class);

    /** The coordinator answers within about a second; on a starved host it takes longer. */
    private static final Duration MIN_AGREEMENT = Duration.ofSeconds(3);

    private static final Duration MAX_AGREEMENT = Duration.ofSeconds(30);
    private static final long MIN_SLEEP_NANOS = 50_000;
    private static final long MAX_SLEEP_NANOS = 1_000_000;

    private static final int COORDINATOR = 0;

    private final String communicator;
    private final int rank;
    private final NativeEngine engine;
    private final Optional<ConnectedDevice> device;
    private final ControlNetwork control;
    private final AtomicReference<Failure> failure = new AtomicReference<>();
    private final AtomicBoolean dumps = new AtomicBoolean();
    private final FailureListeners listeners;
    private volatile boolean unsettled; // an error of the JVM kept the failure from the engines or from listeners
    private volatile Supplier<String> inFlight = () -> "";
    private volatile FlightRecorder recorder; // null until the communicator is started

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

    /** Says which operation is in flight and since when, for messages; an empty text if none is. */
    void describeWith(Supplier<String> description) {
        inFlight = description;
    }

    /** Notes what this rank remembers, when it fails; see {@link FlightRecorder#onFailure}. */
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

    /** Why the communicator failed, or null. */
    Failure current() {
        return failure.get();
    }

    /** Calls the listener with the cause, on a thread of its own, when the communicator fails, or now if it has. */
    void onFailure(Consumer<? super JcclException> listener) {
        listeners.add(listener);
    }

    /** Called by the watchdog: completes what an error of the JVM has kept from being done. */
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

    /** Ends what waits inside the engines. Allocates nothing. */
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

    /** The ranks agreed on what is wrong. */
    @Override
    @SuppressWarnings("try") // a context of log records is there to be current
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

    /** The application gives up. */
    void abort() {
        abort("rank=" + rank + " aborted the communicator");
    }

    /** The application gives up an operation, which ends with the communicator. */
    void cancelled(String operation) {
        abort("rank=" + rank + " cancelled " + operation);
    }

    private void abort(String text) {
        abort(new Failure(new AbortedException(text + "; initialise a new communicator to go on")), text);
    }

    /** A thread's own deadline passed while another thread executes the operation. */
    void timedOut(String operation) {
        ended(Code.TIMEOUT, operation, engine.lastEntered(), 0, engine::lastError);
    }

    /**
     * An operation ended with an error of the native interface.
     *
     * @param sequence its number, or that of the one before if it has none
     * @param timeoutNanos its time-out
     * @return why the communicator failed, now that it has
     */
    Failure ended(int status, String operation, long sequence, long timeoutNanos) {
        return ended(status, operation, sequence, timeoutNanos, engine::lastError);
    }

    /**
     * The same of an operation on a device.
     *
     * @param sequence its number, or that of the one that failed before it, in the device's sequence
     * @param timeoutNanos its time-out
     */
    Failure endedOnDevice(int status, String operation, long sequence, long timeoutNanos) {
        return ended(status, operation, LastEntered.onDevice(sequence), timeoutNanos, () -> device.orElseThrow()
                .lastError());
    }

    private Failure ended(int status, String operation, long sequence, long timeoutNanos, Supplier<String> detail) {
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

    /** A thread that waits for something that has begun was interrupted; the other ranks must not wait for this one. */
    void interrupted(String operation) {
        if (failure.get() != null) {
            return;
        }
        String text = operation + " on rank=" + rank + ": the thread that waits was interrupted";
        abort(Failure.byInterrupt(new AbortedException(text + "; initialise a new communicator to go on")), text);
    }

    /** Something broke off an operation; the other ranks must not wait for this one. */
    Failure broken(OperationWork operation, Throwable problem) {
        try {
            return broken(operation.describe(), problem);
        } catch (StackOverflowError e) {
            throw e; // the watchdog calls this again, on a stack that is not exhausted
        } catch (Error e) {
            control.breakDown(problem); // needs no memory, and fails this rank once there is some
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

    /** Waits for the agreed failure while the coordinator is heard. */
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
     * Fails, and reports that to all ranks before a wait ends on this one: a rank that hears of it from the application, and then
     * reports what it sees itself, is later.
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

    /** Each step may be done again, after an error of the JVM. */
    private void settle(Failure mine) {
        unsettled = false;
        try {
            dump(mine); // before waits end: where they stood is what a dump is for
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
                        + " ms: it or its host is gone, or a network does not lead there and back"
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
