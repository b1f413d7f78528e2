package io.jccl.runtime;

import io.jccl.DeviceStream;
import io.jccl.Group;
import io.jccl.StreamOperations;
import io.jccl.TimedOperations;
import io.jccl.Work;
import io.jccl.internal.Arguments;
import java.time.Duration;
import java.util.function.Consumer;

/**
 * Issues operations of a communicator: with its own stream and time-out, or all on one given stream, or all with one
 * given time-out.
 */
public final class Issuer extends CheckedOperations<Work>
        implements StreamOperations, TimedOperations, CheckedOperations.IssueRight<Work> {

    private final CommunicatorImpl communicator;
    private final DeviceStream stream; // null for the communicator's own stream
    private final Duration timeout; // time-out of each operation; null for the communicator's
    private final CallFactory factory;

    Issuer(CommunicatorImpl communicator, CallFactory factory, DeviceStream stream, Duration timeout) {
        this.communicator = communicator;
        this.factory = factory;
        this.stream = stream;
        this.timeout = timeout;
    }

    /** See {@link io.jccl.Communicator#group}. */
    @Override
    public Work group(Consumer<Group> body) {
        Arguments.required("body", body, "what adds operations to the group");
        try (IssueRight<Work> right = begin()) {
            GroupBuilder group = new GroupBuilder(factory);
            try {
                body.accept(group);
            } finally {
                group.end();
            }
            return right.issue(group.call());
        }
    }

    @Override
    IssueRight<Work> begin() {
        communicator.beginIssue();
        return this;
    }

    @Override
    public CallFactory factory() {
        return factory;
    }

    @Override
    public Work issue(OperationCall call) {
        long deadline = timeout == null ? Deadlines.NONE : Deadlines.after(timeout);
        return communicator.backendOf(call).issue(call, stream, deadline);
    }

    @Override
    public void close() {
        communicator.endIssue();
    }
}
