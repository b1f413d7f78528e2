package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.RankOperation;
import io.jccl.events.JfrEvents;
import io.jccl.events.LogContext;
import io.jccl.events.OperationSpan;
import io.jccl.nativelib.Code;
import io.jccl.nativelib.NativeProfiler;
import io.jccl.wire.LastEntered;
import java.util.Optional;

/**
 * Makes events of operations: for JDK Flight Recorder, where a recording asks for that, and for a profiler plug-in, where there
 * is one.
 */
final class OperationEvents {

    private final String communicator;
    private final int rank;
    private final int size;
    private final EngineStatus status;
    private final ProfiledOperations profiler; // null: none

    /**
     * The events of an operation that has begun.
     *
     * @param span of JDK Flight Recorder, or null
     * @param profiled what the profiler plug-in has made of it
     */
    record Begun(OperationSpan span, long profiled) {}

    OperationEvents(String communicator, int rank, int size, EngineStatus status, Optional<NativeProfiler> profiler) {
        this.communicator = communicator;
        this.rank = rank;
        this.size = size;
        this.status = status;
        this.profiler = profiler.map(one -> new ProfiledOperations(one, size)).orElse(null);
    }

    /** Whether there is a profiler plug-in. */
    boolean areProfiled() {
        return profiler != null;
    }

    /** Whether an operation that begins now has events. */
    boolean areMade() {
        return profiler != null || JfrEvents.recordsOperations();
    }

    /** What identifies the communicator in the log records of a thread. */
    LogContext logContext() {
        return LogContext.of(rank, communicator);
    }

    /**
     * An operation begins that has events.
     *
     * @param before the sequence number of the collective before
     */
    Begun begin(OperationCall call, long before, Backend backend) {
        long profiled = profiler == null ? 0 : profiler.begun(call, before, backend);
        return new Begun(JfrEvents.recordsOperations() ? JfrEvents.beginOperation() : null, profiled);
    }

    /** Ends what the profiler plug-in has made of it; null: it had no events. */
    void endProfiled(Begun begun) {
        if (begun != null && profiler != null) {
            profiler.ended(begun.profiled());
        }
    }

    /** Executes an operation, on the thread that has the right to run. */
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

    /** An operation that a device has executed, with its number there or that of the collective before. */
    void ended(Begun begun, long sequence, boolean succeeded, OperationWork work) {
        endProfiled(begun);
        if (begun.span() != null) {
            begun.span().end(succeeded, () -> facts(sequence - 1, LastEntered.onDevice(sequence), work));
        }
    }

    /** No operation has events any more. */
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
