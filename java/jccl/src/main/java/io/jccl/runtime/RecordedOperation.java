package io.jccl.runtime;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.RankOperation;
import io.jccl.nativelib.Numbers;
import io.jccl.nativelib.Rows;
import io.jccl.tuning.Choice;

/**
 * An operation as the engine's history has it. Times are those of {@link System#nanoTime}, {@link #UNKNOWN} where not known.
 *
 * @param operation what it is, and how far it has come
 * @param fingerprint what ranks compare
 * @param begunNanos when it began
 * @param endedNanos when it ended
 * @param waitedNanos what its long waits took; short ones are not measured
 * @param waitedFor the peer of the longest of them, or -1
 * @param choice how it is executed, packed as {@link Choice} does, without the bytes of a chunk
 * @param ownBytes where each rank has a count, the bytes of this rank's larger buffer, else 0
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

    /** Of a time. */
    static final long UNKNOWN = 0;

    /** Reads a row of {@link Rows#HISTORY_LENGTH}. {@code number} may differ from the engine's sequence number. */
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
                (int) row[Rows.HISTORY_ROOT]);
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

    /** Whether buffers were read and written in place. */
    boolean inPlace() {
        return Choice.usedZeroCopy(choice);
    }

    /** The bytes of the largest buffer of a rank, of so many ranks; where each rank has a count, of this rank. */
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
