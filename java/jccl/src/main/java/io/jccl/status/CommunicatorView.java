package io.jccl.status;

import io.jccl.ChannelWait;
import io.jccl.bootstrap.LastEntered;
import io.jccl.bootstrap.StatusSource;
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
