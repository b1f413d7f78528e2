package io.jccl.status;

import io.jccl.ChannelWait;
import io.jccl.TransportKind;
import io.jccl.bootstrap.LastEntered;
import io.jccl.bootstrap.StatusSource;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** What an initialised communicator says of itself on one rank; at once, and by any thread. */
public interface CommunicatorView {

    /** Its operations. */
    StatusSource source();

    /** The last operations that are done. */
    LastEntered lastDone();

    /** The operation under way. */
    Optional<UnderWay> underWay();

    /** Where its channels stand still now, and for how long. */
    List<TimedWait> waits();

    /** Why it failed; empty while it has not. */
    Optional<String> failure();

    /** What each transport in use has done, and how many ranks it joins to this one. */
    List<Traffic> traffic();

    /** What all operations together have done. */
    Totals totals();

    /** How the last operations shared this rank's time with what it does between them. */
    Pace pace();

    /**
     * Writes what this rank remembers of its last operations, for {@code jccl trace}.
     *
     * @return the file
     * @throws IOException if it cannot be written
     */
    Path dump(Path folder) throws IOException;

    /**
     * What a transport has done.
     *
     * @param transport which
     * @param peers how many ranks it joins to this one
     * @param sentBytes the bytes that were sent through slots
     * @param longWaits how often this rank has waited for a peer for a millisecond or longer
     * @param waitedNanos how long, all together
     */
    record Traffic(TransportKind transport, int peers, long sentBytes, long longWaits, long waitedNanos) {}

    /**
     * What operations have done that ended well, but for those that kernels of a GPU execute.
     *
     * @param operations how many
     * @param bytes of the larger buffer of this rank, of all together
     * @param nanos what they took, as far as they were timed
     */
    record Totals(long operations, long bytes, long nanos) {

        /** Nothing was done. */
        public static final Totals NOTHING = new Totals(0, 0, 0);
    }

    /**
     * The last operations that have ended.
     *
     * @param operations how many; 0 if no times are known
     * @param insideNanos what they took
     * @param outsideNanos what this rank did between them
     */
    record Pace(int operations, long insideNanos, long outsideNanos) {

        /** Nothing is known. */
        public static final Pace UNKNOWN = new Pace(0, 0, 0);
    }

    /**
     * An operation that this rank has begun and not ended.
     *
     * @param call as text
     * @param sequence see {@link LastEntered}; 0 for sends and receives, which have no number
     * @param nanos for how long
     */
    record UnderWay(String call, long sequence, long nanos) {}

    /**
     * A wait and its duration.
     *
     * @param place where
     * @param nanos for how long, -1 if that is not known
     */
    record TimedWait(ChannelWait place, long nanos) {}
}
