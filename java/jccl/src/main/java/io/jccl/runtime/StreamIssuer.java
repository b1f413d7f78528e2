package io.jccl.runtime;

import io.jccl.StreamOperations;
import io.jccl.Work;

/** A communicator's operations on one stream. */
final class StreamIssuer extends IssuedOperations implements StreamOperations {

    private final IssuedOperations communicator;
    private final OperationFactory factory;

    /**
     * @param communicator whose right to issue is taken
     * @param factory makes operations on the stream
     */
    StreamIssuer(IssuedOperations communicator, OperationFactory factory) {
        this.communicator = communicator;
        this.factory = factory;
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
    OperationFactory factory() {
        return factory;
    }

    @Override
    Work append(Operation operation) {
        return communicator.append(operation);
    }
}
