package io.jccl.runtime;

import io.jccl.RankOperation;
import io.jccl.nativelib.Engine;
import io.jccl.nativelib.Numbers;
import io.jccl.nativelib.Rows;
import java.util.Optional;

/**
 * Sends and receives that were executed together, as the engine's history has them. Times as in {@link RecordedOperation}.
 *
 * @param number its number among those of this rank
 * @param after the sequence number of the collective before
 * @param state how far it has come
 * @param sends how many messages this rank sends
 * @param to who gets the first, or -1
 * @param sentBytes the bytes of all of them
 * @param receives how many it receives
 * @param from who sends the first, or -1
 * @param receivedBytes the bytes of all of them
 * @param begunNanos when they began
 * @param endedNanos when they ended
 * @param waitedNanos what their long waits took
 * @param waitedFor the peer of the longest, or -1
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

    /** What an engine's history has at a number; any thread may ask. */
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
