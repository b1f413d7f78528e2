package io.jccl.runtime;

import io.jccl.RankOperation;
import io.jccl.nativelib.Engine;
import io.jccl.nativelib.Numbers;
import io.jccl.nativelib.Rows;
import java.util.Optional;

/**
 * A group of sends and receives in the history of an engine. Times are those of {@link RecordedOperation}.
 *
 * @param number number of the group among those of this rank
 * @param after sequence number of the collective before the group
 * @param state state of the group
 * @param sends number of sends
 * @param to receiver of the first send, or -1
 * @param sentBytes bytes of all sends
 * @param receives number of receives
 * @param from sender of the first receive, or -1
 * @param receivedBytes bytes of all receives
 * @param begunNanos time at which the group began
 * @param endedNanos time at which the group ended
 * @param waitedNanos total duration of the group's long waits
 * @param waitedFor peer of the longest wait; -1 if no wait was long
 */
record RecordedTransfers(
        long number,
        long after,
        RankOperation.State state,
        int sends,
        int to,
        long sentBytes,
        int receives,
        int from,
        long receivedBytes,
        long begunNanos,
        long endedNanos,
        long waitedNanos,
        int waitedFor) {

    long bytes() {
        return sentBytes + receivedBytes;
    }

    /**
     * Returns the group with the given number from an engine's history; empty if the group is not on record. Any thread
     * may call this.
     */
    static Optional<RecordedTransfers> at(long number, Engine engine) {
        long[] row = engine.transfers(number);
        return row.length == 0 ? Optional.empty() : Optional.of(of(row));
    }

    private static RecordedTransfers of(long[] row) {
        return new RecordedTransfers(
                row[Rows.TRANSFERS_NUMBER],
                row[Rows.TRANSFERS_AFTER],
                Numbers.state((int) row[Rows.TRANSFERS_STATE]),
                (int) row[Rows.TRANSFERS_SENDS],
                (int) row[Rows.TRANSFERS_TO],
                row[Rows.TRANSFERS_SENT_BYTES],
                (int) row[Rows.TRANSFERS_RECEIVES],
                (int) row[Rows.TRANSFERS_FROM],
                row[Rows.TRANSFERS_RECEIVED_BYTES],
                row[Rows.TRANSFERS_BEGUN],
                row[Rows.TRANSFERS_ENDED],
                row[Rows.TRANSFERS_WAITED],
                (int) row[Rows.TRANSFERS_WAITED_FOR]);
    }
}
