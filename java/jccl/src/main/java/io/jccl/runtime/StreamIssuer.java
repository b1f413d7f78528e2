package io.jccl.runtime;

import io.jccl.DeviceStream;
import io.jccl.StreamOperations;
import io.jccl.Work;

/** A communicator's operations on one stream. */
final class StreamIssuer extends IssuedOperations implements StreamOperations {

    private final CommunicatorImpl communicator;
    private final CallFactory factory;
    private final DeviceStream stream;

    /** @param factory makes calls for the stream */
    StreamIssuer(CommunicatorImpl communicator, CallFactory factory, DeviceStream stream) {
        this.communicator = communicator;
        this.factory = factory;
        this.stream = stream;
    }

    @Override
    void begin() {
        communicator.begin();
    }

    @Override
    void end() {
        communicator.end();
    }

    @Override
    CallFactory factory() {
        return factory;
    }

    @Override
    Work issue(OperationCall call) {
        return communicator.issue(call, stream);
    }
}
