package io.jccl.runtime;

import io.jccl.DeviceStream;
import io.jccl.StreamOperations;
import io.jccl.TimedOperations;
import io.jccl.Work;
import java.time.Duration;

/** A communicator's operations on one stream, or with one time-out. */
public final class Issuer extends IssuedOperations implements StreamOperations, TimedOperations {

    private final CommunicatorImpl communicator;
    private final Issuing<Work> issuing;

    /**
     * @param stream null: the communicator's own
     * @param timeout null: the communicator's
     */
    Issuer(CommunicatorImpl communicator, DeviceStream stream, Duration timeout) {
        this.communicator = communicator;
        this.issuing = communicator.new IssuingOn(stream, timeout);
    }

    @Override
    Issuing<Work> begin() {
        communicator.begin();
        return issuing;
    }
}
