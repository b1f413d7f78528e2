package io.jccl.cli.trace;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * What one rank of a communicator has dumped. Times are in nanoseconds of the rank's clock.
 *
 * @param file that it was read from
 * @param communicator the name in messages
 * @param session distinguishes communicators
 * @param rank that dumped
 * @param size the ranks of the communicator
 * @param host the host's name
 * @param pid the process
 * @param clock which clock the times are of
 * @param nanos when the dump was made, by that clock
 * @param wallNanos the same, since 1970
 * @param failure why the communicator has failed
 * @param operations collectives on memory of the host, in the order of their numbers
 * @param deviceOperations the same on a device
 * @param transfers sends and receives of memory of the host
 * @param deviceTransfers the same on a device
 * @param waits where channels stood, as text
 */
record Dump(
        Path file,
        String communicator,
        String session,
        int rank,
        int size,
        String host,
        long pid,
        String clock,
        long nanos,
        long wallNanos,
        Optional<String> failure,
        List<Operation> operations,
        List<Operation> deviceOperations,
        List<Transfers> transfers,
        List<Transfers> deviceTransfers,
        List<String> waits) {

    /** Of a time. */
    static final long UNKNOWN = Long.MIN_VALUE;

    /**
     * When something happened; {@link #UNKNOWN} where a dump does not say.
     *
     * @param issued when the application issued it
     * @param begun when it began
     * @param ended when it ended
     * @param waited how long it waited, in waits that were long
     * @param waitedFor for whom the longest, or -1
     */
    record Times(long issued, long begun, long ended, long waited, int waitedFor) {

        boolean hasBegun() {
            return begun != UNKNOWN;
        }
    }

    /**
     * A collective.
     *
     * @param sequence its number
     * @param call collective, type, reduction, count and root, as text
     * @param name the collective
     * @param bytes of the largest buffer of a rank; 0 where a dump does not say
     * @param state how far it has come
     * @param fingerprint what ranks compare
     * @param details how it was executed, as text
     * @param times when
     */
    record Operation(
            long sequence,
            String call,
            String name,
            long bytes,
            String state,
            String fingerprint,
            String details,
            Times times) {

        boolean isDone() {
            return state.equals("done");
        }
    }

    /**
     * Sends and receives that were executed together.
     *
     * @param number among those of the rank
     * @param name what they are, as text
     * @param bytes that were sent and received
     * @param state how far they have come
     * @param times when
     */
    record Transfers(long number, String name, long bytes, String state, Times times) {}

    /** How many nanoseconds the system's clock is ahead of the other. */
    long wallOffset() {
        return wallNanos - nanos;
    }
}
