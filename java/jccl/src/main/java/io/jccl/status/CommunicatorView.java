package io.jccl.status;

import io.jccl.ChannelWait;
import io.jccl.TransportKind;
import io.jccl.control.StatusSource;
import io.jccl.wire.LastEntered;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Reports the state of an initialised communicator on one rank. Any thread may call any method; none waits. */
public interface CommunicatorView {

    /** Returns the source of the recorded operations. */
    StatusSource source();

    /** Returns the last operations that are done. */
    LastEntered lastDone();

    /** Returns the operation in progress; empty if there is none. */
    Optional<UnderWay> underWay();

    /** Returns the points at which channels wait now, each with the duration of the wait. */
    List<TimedWait> waits();

    /** Returns the cause of the failure; empty if the communicator has not failed. */
    Optional<String> failure();

    /** Returns the counters of each transport in use, each with the number of ranks that it joins to this one. */
    List<Traffic> traffic();

    /** Returns the counters of all operations. */
    Totals totals();

    /** Returns how this rank's time was divided between its last operations and the time between them. */
    Pace pace();

    /**
     * Writes what this rank remembers of its last operations, for {@code jccl trace}.
     *
     * @return the file
     * @throws IOException if the file cannot be written
     */
    Path dump(Path folder) throws IOException;

    /**
     * Counters of one transport.
     *
     * @param transport the transport
     * @param peers the number of ranks that it joins to this one
     * @param sentBytes the bytes that were sent through slots
     * @param longWaits the number of waits for a peer that took a millisecond or longer
     * @param waitedNanos the total duration of these waits
     */
    record Traffic(TransportKind transport, int peers, long sentBytes, long longWaits, long waitedNanos) {}

    /**
     * Counters of the operations that ended with success. Operations that kernels of a GPU execute are not counted.
     *
     * @param operations the number of operations
     * @param bytes the total size of the operations, each counted by the larger of this rank's buffers
     * @param nanos the total duration of the operations that were timed
     */
    record Totals(long operations, long bytes, long nanos) {

        public static final Totals NOTHING = new Totals(0, 0, 0);
    }

    /**
     * The time of the last operations that have ended.
     *
     * @param operations the number of operations; 0 if no times are known
     * @param insideNanos the time in these operations
     * @param outsideNanos the time of this rank between them
     */
    record Pace(int operations, long insideNanos, long outsideNanos) {

        public static final Pace UNKNOWN = new Pace(0, 0, 0);
    }

    /**
     * An operation that this rank has begun and not ended.
     *
     * @param call the call as text
     * @param sequence see {@link LastEntered}; 0 for sends and receives, which have no number
     * @param nanos the time since the operation began
     */
    record UnderWay(String call, long sequence, long nanos) {

        /**
         * The time after which an operation counts as long. The stall detector then reports the operation, and
         * {@code jccl ps} names the ranks that hold it up.
         */
        public static final long LONG_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    }

    /**
     * A wait and its duration.
     *
     * @param place the point at which a channel waits
     * @param nanos the duration; -1 if it is not known
     */
    record TimedWait(ChannelWait place, long nanos) {}
}
