package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.RankOperation;
import io.jccl.events.JfrEvents;
import io.jccl.events.LogContext;
import io.jccl.events.OperationSpan;
import io.jccl.nativelib.Code;
import io.jccl.parts.OperationProfiler;
import io.jccl.wire.LastEntered;
import java.util.Optional;

/**
 * Makes events of operations: for JDK Flight Recorder if a recording asks for them, and for a profiler if there is
 * one.
 */
final class OperationEvents {

    private final String communicator;
    private final int rank;
    private final int size;
    private final EngineStatus status;
    private final ProfiledOperations profiler; // null if there is none

    /**
     * The events of an operation that has begun.
     *
     * @param span the event of JDK Flight Recorder, or null
     * @param profiled the result of {@link ProfiledOperations#begun}
     */
    record Begun(OperationSpan span, long profiled) {}

    OperationEvents(
            String communicator, int rank, int size, EngineStatus status, Optional<OperationProfiler> profiler) {
        this.communicator = communicator;
        this.rank = rank;
        this.size = size;
        this.status = status;
        this.profiler = profiler.map(one -> new ProfiledOperations(one, size)).orElse(null);
    }

    /** Returns true if there is a profiler. */
    boolean areProfiled() {
        return profiler != null;
    }

    /** Returns true if an operation that begins now has events. */
    boolean areMade() {
        return profiler != null || JfrEvents.recordsOperations();
    }

    /** Identifies the communicator in the log records of this thread until the result is closed. */
    LogContext logContext() {
        return LogContext.of(rank, communicator);
    }

    /**
     * Begins the events of an operation.
     *
     * @param before sequence number of the preceding collective
     */
    Begun begin(OperationCall call, long before, Backend backend) {
        long profiled = profiler == null ? 0 : profiler.begun(call, before, backend);
        return new Begun(JfrEvents.recordsOperations() ? JfrEvents.beginOperation() : null, profiled);
    }

    /** Ends the profiler's events of an operation; does nothing for null. */
    void endProfiled(Begun begun) {
        if (begun != null && profiler != null) {
            profiler.ended(begun.profiled());
        }
    }

    /** Executes an operation and makes its events. Called by the thread that has the right to run. */
    long execute(OperationWork work, long timeoutNanos) {
        long before = status.lastEntered().host();
        Begun begun = begin(work.call(), before, work.backend());
        long outcome;
        try {
            outcome = work.backend().execute(work, timeoutNanos);
        } finally {
            endProfiled(begun);
        }
        if (begun.span() != null) {
            begun.span()
                    .end(
                            outcome >= Code.OK,
                            () -> facts(before, status.lastEntered().host(), work));
        }
        return outcome;
    }

    /**
     * Ends the events of an operation that a device has executed.
     *
     * @param sequence the operation's number in the device's sequence, or that of the preceding collective if it has
     *     none
     */
    void ended(Begun begun, long sequence, boolean succeeded, OperationWork work) {
        endProfiled(begun);
        if (begun.span() != null) {
            begun.span().end(succeeded, () -> facts(sequence - 1, LastEntered.onDevice(sequence), work));
        }
    }

    /** Closes the profiler; no operation has events in it any more. */
    void close() {
        if (profiler != null) {
            profiler.close();
        }
    }

    private OperationSpan.Facts facts(long before, long sequence, OperationWork work) {
        OperationCall call = work.call();
        boolean exchanges = call.isTransfer();
        if (call.members().size() == 1 && !exchanges && LastEntered.plain(sequence) == before + 1) {
            Optional<RecordedOperation> recorded = status.recorded(sequence);
            if (recorded.isPresent()) {
                RecordedOperation one = recorded.get();
                long known = call.bytes(size);
                return facts(one, known > 0 ? known : one.bytes(size));
            }
        }
        Optional<RecordedTransfers> transfers =
                exchanges && !call.isOnDevice() ? status.lastTransfers() : Optional.empty();
        return new OperationSpan.Facts(
                communicator,
                rank,
                size,
                LastEntered.plain(sequence),
                exchanges ? Collective.SEND_RECV.label() : "group",
                "",
                "",
                0,
                transfers.map(RecordedTransfers::bytes).orElseGet(() -> call.bytes(size)),
                0,
                "",
                "",
                0,
                false,
                transfers.map(RecordedTransfers::waitedNanos).orElse(0L),
                transfers.map(RecordedTransfers::waitedFor).orElse(-1));
    }

    private OperationSpan.Facts facts(RecordedOperation one, long bytes) {
        RankOperation operation = one.operation();
        return new OperationSpan.Facts(
                communicator,
                rank,
                size,
                LastEntered.plain(operation.sequence()),
                operation.collective().label(),
                operation.type() == null ? "" : operation.type().label(),
                operation.op() == null ? "" : operation.op().label(),
                operation.count(),
                bytes,
                operation.root(),
                one.algorithm().label(),
                one.protocol().label(),
                one.channels(),
                one.inPlace(),
                one.waitedNanos(),
                one.waitedFor());
    }
}
