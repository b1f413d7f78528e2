package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.DeviceStream;
import io.jccl.Group;
import io.jccl.StreamOperations;
import io.jccl.TimedOperations;
import io.jccl.Work;
import io.jccl.internal.Arguments;
import io.jccl.internal.Releases;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

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
    private @Nullable DataBuffer first; // buffers of the call that has the right to issue, like the next two fields
    private @Nullable DataBuffer second;
    private @Nullable List<DataBuffer> more;

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
        try (IssueRight<Work> right = begin(null, null)) {
            GroupBuilder group = new GroupBuilder(factory);
            more = group.awaited();
            try {
                body.accept(group);
            } finally {
                group.end();
            }
            return right.issue(group.call());
        }
    }

    @Override
    IssueRight<Work> begin(@Nullable DataBuffer first, @Nullable DataBuffer second) {
        try {
            communicator.beginIssue();
        } catch (RuntimeException refused) {
            Releases.settle(first);
            Releases.settle(second);
            throw refused;
        }
        this.first = first;
        this.second = second;
        return this;
    }

    @Override
    IssueRight<Work> begin(@Nullable List<DataBuffer> buffers) {
        try {
            communicator.beginIssue();
        } catch (RuntimeException refused) {
            Releases.settle(buffers);
            throw refused;
        }
        this.more = buffers;
        return this;
    }

    @Override
    public CallFactory factory() {
        return factory;
    }

    @Override
    public Work issue(OperationCall call) {
        long deadline = timeout == null ? Deadlines.NONE : Deadlines.after(timeout);
        Backend backend = communicator.backendOf(call);
        OperationWork work = backend.issue(call, stream, deadline);
        if (isAwaited()) {
            backend.endUnawaited(work);
        }
        return work;
    }

    private boolean isAwaited() {
        return Releases.isAwaited(first)
                || Releases.isAwaited(second)
                || more != null && more.stream().anyMatch(Releases::isAwaited);
    }

    @Override
    public void close() {
        DataBuffer one = first;
        DataBuffer other = second;
        List<DataBuffer> others = more;
        first = null;
        second = null;
        more = null;
        communicator.endIssue();
        Releases.settle(one);
        Releases.settle(other);
        Releases.settle(others);
    }
}
