package io.jccl.cli.trace;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The dump of one rank of a communicator. Times are in nanoseconds of the rank's clock.
 *
 * @param file the file from which it was read
 * @param communicator name of the communicator in messages
 * @param session id that distinguishes communicators
 * @param rank the rank
 * @param size number of ranks of the communicator
 * @param host name of the host
 * @param pid process id
 * @param clock id of the clock of all times
 * @param nanos when the dump was made, by that clock
 * @param wallNanos when the dump was made, in nanoseconds since 1970
 * @param failure why the communicator has failed; empty if it has not
 * @param operations collectives on host memory, in the order of their sequence numbers
 * @param deviceOperations collectives on device memory, in the same order
 * @param transfers sends and receives of host memory
 * @param deviceTransfers sends and receives of device memory
 * @param waits what channels waited for, as text
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

    /** Value of a time that a dump does not contain. */
    static final long UNKNOWN = Long.MIN_VALUE;

    /**
     * The times of an operation; {@link #UNKNOWN} if a dump does not contain one.
     *
     * @param issued when the application issued it
     * @param begun when it began
     * @param ended when it ended
     * @param waited how long it waited, counting only long waits
     * @param waitedFor rank for which it waited longest, or -1
     */
    record Times(long issued, long begun, long ended, long waited, int waitedFor) {

        boolean hasBegun() {
            return begun != UNKNOWN;
        }
    }

    /**
     * A collective.
     *
     * @param sequence its sequence number
     * @param call collective, type, reduction, count and root, as text
     * @param name the collective
     * @param bytes size of the largest buffer of a rank; 0 if a dump does not contain it
     * @param state how far it has come
     * @param fingerprint the fingerprint that ranks compare
     * @param details how it was executed, as text
     * @param times its times
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
     * @param number number among those of the rank
     * @param name description of them
     * @param bytes number of bytes that were sent and received
     * @param state how far they have come
     * @param times their times
     */
    record Transfers(long number, String name, long bytes, String state, Times times) {}

    /** Returns by how many nanoseconds the system time is ahead of the rank's clock. */
    long wallOffset() {
        return wallNanos - nanos;
    }
}
