package io.jccl.control;

import io.jccl.ChannelWait;
import io.jccl.wire.LastEntered;
import java.util.List;
import java.util.Optional;

/**
 * The facts that a rank reports about itself when the coordinator asks. Called on the control network's thread: must
 * answer at once, without waiting for an operation. An exception is logged, and the rank reports "nothing known".
 */
public interface StatusSource {

    /** The source of a rank that has entered nothing, or of which nothing is known. */
    StatusSource NOTHING = new StatusSource() {
        @Override
        public LastEntered lastEntered() {
            return LastEntered.NOTHING;
        }

        @Override
        public Optional<OperationRecord> recordAt(long sequence) {
            return Optional.empty();
        }

        @Override
        public List<ChannelWait> waitingRows() {
            return List.of();
        }
    };

    /** Returns the last operations that this rank entered. */
    LastEntered lastEntered();

    /**
     * Returns true if {@link #lastEntered} has these numbers. Called with every heartbeat: should allocate nothing.
     *
     * @param host the last operation on host memory
     * @param device the last operation on a device
     */
    default boolean hasEntered(long host, long device) {
        LastEntered last = lastEntered();
        return last.host() == host && last.device() == device;
    }

    /**
     * Returns the operation of this rank at a sequence number.
     *
     * @param sequence a number of the host's sequence or the device's, see {@link LastEntered}
     * @return empty if the rank has not entered the operation, or entered it too long ago
     */
    Optional<OperationRecord> recordAt(long sequence);

    /** Returns the places where this rank's channels wait now; empty if none does. At most 64 are sent. */
    List<ChannelWait> waitingRows();
}
