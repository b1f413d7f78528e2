package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.Group;
import io.jccl.internal.Releases;
import io.jccl.runtime.TransfersCall.Transfer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Collects the calls of a group while its body runs. */
public final class GroupBuilder extends CheckedOperations<Group> implements Group, CheckedOperations.IssueRight<Group> {

    private final CallFactory factory;
    private final Thread thread = Thread.currentThread();
    private final List<Transfer> transfers = new ArrayList<>();
    private final List<OperationCall> collectives = new ArrayList<>();
    private final List<DataBuffer> awaited = new ArrayList<>();
    private boolean open = true;

    GroupBuilder(CallFactory factory) {
        this.factory = factory;
    }

    /** Returns the buffers with a callback, also those of operations that the group has refused. */
    List<DataBuffer> awaited() {
        return awaited;
    }

    /** Ends the body: from now on the group refuses operations. */
    void end() {
        open = false;
    }

    /** Returns all collected operations as one call. */
    OperationCall call() {
        List<OperationCall> members = new ArrayList<>(collectives.size() + 1);
        if (!transfers.isEmpty()) {
            members.add(factory.transfers(transfers));
        }
        members.addAll(collectives);
        return members.size() == 1 ? members.get(0) : factory.group(members);
    }

    /** Checks that the group accepts operations now, and keeps those buffers of the operation that have a callback. */
    private void requireOpen(@Nullable DataBuffer first, @Nullable DataBuffer second) {
        if (!open || Thread.currentThread() != thread) {
            Releases.settle(first);
            Releases.settle(second);
            throw new IllegalStateException("group open=" + open + ": a Group is valid only within its body and on the "
                    + "body's thread; issue later operations on the communicator");
        }
        keepAwaited(first);
        keepAwaited(second);
    }

    private void keepAwaited(@Nullable DataBuffer buffer) {
        if (Releases.isAwaited(buffer)) {
            awaited.add(buffer);
        }
    }

    @Override
    IssueRight<Group> begin(@Nullable DataBuffer first, @Nullable DataBuffer second) {
        requireOpen(first, second);
        return this;
    }

    @Override
    IssueRight<Group> begin(@Nullable List<DataBuffer> buffers) {
        for (DataBuffer buffer : buffers == null ? List.<DataBuffer>of() : buffers) {
            requireOpen(buffer, null);
        }
        requireOpen(null, null);
        return this;
    }

    @Override
    public CallFactory factory() {
        return factory;
    }

    @Override
    public Group issue(OperationCall call) {
        collectives.add(call);
        return this;
    }

    @Override
    public void close() {}

    private Group add(boolean receiving, int peer, DataBuffer buffer) {
        requireOpen(buffer, null);
        transfers.add(factory.transfer(receiving, peer, buffer));
        return this;
    }

    @Override
    public Group send(int peer, DataBuffer buffer) {
        return add(false, peer, buffer);
    }

    @Override
    public Group recv(int peer, DataBuffer buffer) {
        return add(true, peer, buffer);
    }

    @Override
    public Group sendReceive(DataBuffer send, int to, DataBuffer recv, int from) {
        requireOpen(send, recv);
        factory.checkSendReceive(send, to, recv, from);
        transfers.add(new Transfer(false, to, send));
        transfers.add(new Transfer(true, from, recv));
        return this;
    }
}
