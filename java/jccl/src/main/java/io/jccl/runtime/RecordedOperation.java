package io.jccl.runtime;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.RankOperation;
import io.jccl.nativelib.Numbers;
import io.jccl.nativelib.Rows;
import io.jccl.tuning.Choice;

/**
 * An operation in the history of an engine. Times are by {@link System#nanoTime}, or {@link #UNKNOWN}.
 *
 * @param operation the operation's arguments and state
 * @param fingerprint the hash that ranks compare
 * @param begunNanos time at which the operation began
 * @param endedNanos time at which the operation ended
 * @param waitedNanos total duration of the operation's long waits; short waits are not measured
 * @param waitedFor peer of the longest wait; -1 if no wait was long
 * @param choice the choice that was used, packed by {@link Choice}, without the bytes of a chunk
 * @param ownBytes bytes of this rank's larger buffer if each rank has a count of its own, else 0
 */
record RecordedOperation(
        RankOperation operation,
        long fingerprint,
        long begunNanos,
        long endedNanos,
        long waitedNanos,
        int waitedFor,
        long choice,
        long ownBytes) {

    /** Stands for a time that is not known. */
    static final long UNKNOWN = 0;

    /**
     * Reads a row of {@link Rows#HISTORY_LENGTH}.
     *
     * @param number the operation's sequence number
     */
    static RecordedOperation of(int rank, long number, long[] row) {
        int signature = (int) row[Rows.HISTORY_OPERATION];
        Collective collective = Signatures.collective(signature);
        RankOperation operation = new RankOperation(
                rank,
                number,
                Numbers.state((int) row[Rows.HISTORY_STATE]),
                collective,
                collective == Collective.BARRIER ? null : Signatures.type(signature),
                Signatures.op(signature),
                row[Rows.HISTORY_COUNT],
                (int) row[Rows.HISTORY_ROOT],
                Signatures.wire(signature));
        return new RecordedOperation(
                operation,
                row[Rows.HISTORY_FINGERPRINT],
                row[Rows.HISTORY_BEGUN],
                row[Rows.HISTORY_ENDED],
                row[Rows.HISTORY_WAITED],
                (int) row[Rows.HISTORY_WAITED_FOR],
                row[Rows.HISTORY_CHOICE],
                row[Rows.HISTORY_BYTES]);
    }

    Algorithm algorithm() {
        return Choice.algorithm(choice);
    }

    Protocol protocol() {
        return Choice.protocol(choice);
    }

    int channels() {
        return Choice.channels(choice);
    }

    /** Returns true if the operation used its buffers in place. */
    boolean inPlace() {
        return Choice.usedZeroCopy(choice);
    }

    /**
     * Returns the bytes of the largest buffer of any rank; of this rank's larger buffer if each rank has a count of its
     * own.
     *
     * @param size number of ranks of the communicator
     */
    long bytes(int size) {
        if (ownBytes > 0) {
            return ownBytes;
        }
        return operation.type() == null
                ? 0
                : Signatures.elements(operation.collective(), operation.count(), size)
                        * operation.type().bytes();
    }
}
