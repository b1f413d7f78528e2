package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.RankOperation;
import io.jccl.bootstrap.LastEntered;
import io.jccl.events.JfrEvents;
import io.jccl.events.LogContext;
import io.jccl.events.OperationSpan;
import io.jccl.nativelib.NativeCommunicator;
import java.util.Optional;

/** Makes an event of JDK Flight Recorder of each operation, where a recording asks for that. */
final class OperationEvents {

    private final String communicator;
    private final int rank;
    private final int size;
    private final EngineStatus status;

    OperationEvents(String communicator, int rank, int size, EngineStatus status) {
        this.communicator = communicator;
        this.rank = rank;
        this.size = size;
        this.status = status;
    }

    /** What identifies the communicator in the log records of a thread. */
    LogContext logContext() {
        return LogContext.of(rank, communicator);
    }

    /** Executes an operation, on the thread that has the right to run. */
    long execute(OperationWork work, long timeoutNanos) {
        long before = status.lastEntered().host();
        OperationSpan span = JfrEvents.beginOperation();
        long outcome = work.backend().execute(work, timeoutNanos);
        span.end(
                outcome >= NativeCommunicator.OK,
                () -> facts(before, status.lastEntered().host(), work));
        return outcome;
    }

    /** An operation that a device has executed, with its number there or that of the collective before. */
    void ended(OperationSpan span, long sequence, boolean succeeded, OperationWork work) {
        span.end(succeeded, () -> facts(sequence - 1, LastEntered.onDevice(sequence), work));
    }

    private OperationSpan.Facts facts(long before, long sequence, OperationWork work) {
        OperationCall call = work.call();
        boolean exchanges = call instanceof TransfersCall || call instanceof SendReceiveCall;
        if (!(call instanceof GroupCall) && !exchanges && LastEntered.plain(sequence) == before + 1) {
            Optional<RecordedOperation> recorded = status.recorded(sequence);
            if (recorded.isPresent()) {
                RecordedOperation one = recorded.get();
                return facts(one, call instanceof BufferCall it ? it.bytes(size) : one.bytes(size));
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
                transfers.map(it -> it.sentBytes() + it.receivedBytes()).orElse(0L),
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
