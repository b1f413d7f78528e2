package io.jccl.bootstrap;

import io.jccl.ChannelWait;
import java.util.List;
import java.util.Optional;

/**
 * What a rank reports about itself when the coordinator asks. Called on the control network's thread: must answer at
 * once, without waiting for an operation; what it throws is logged, and the rank reports "nothing known".
 */
public interface StatusSource {

    /** Of a rank that has entered nothing, or of which nothing is known. */
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

    /** The last operations that this rank entered. */
    LastEntered lastEntered();

    /**
     * Returns true if {@link #lastEntered} has these numbers. Called with every heartbeat: should allocate nothing.
     *
     * @param host the last operation on memory of the host
     * @param device the last operation on a device
     */
    default boolean hasEntered(long host, long device) {
        LastEntered last = lastEntered();
        return last.host() == host && last.device() == device;
    }

    /**
     * What this rank did at a sequence number.
     *
     * @param sequence of the host's sequence or the device's, see {@link LastEntered}
     * @return empty if it has not entered the operation, or it is too long ago
     */
    Optional<OperationRecord> recordAt(long sequence);

    /** Where this rank's channels stand still now; empty if none does. At most 64 are sent. */
    List<ChannelWait> waitingRows();
}
