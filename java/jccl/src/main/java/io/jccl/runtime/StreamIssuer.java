package io.jccl.runtime;

import io.jccl.DeviceStream;
import io.jccl.StreamOperations;
import io.jccl.Work;

/** A communicator's operations on one stream. */
public final class StreamIssuer extends IssuedOperations implements StreamOperations {

    private final CommunicatorImpl communicator;
    private final Issuing<Work> issuing;

    StreamIssuer(CommunicatorImpl communicator, DeviceStream stream) {
        this.communicator = communicator;
        this.issuing = communicator.new OnStream(stream);
    }

    @Override
    Issuing<Work> begin() {
        communicator.begin();
        return issuing;
    }
}
