package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.Group;
import io.jccl.runtime.TransfersCall.Transfer;
import java.util.ArrayList;
import java.util.List;

/** Collects the calls of a group while its body runs. */
public final class GroupBuilder extends CheckedOperations<Group> implements Group, CheckedOperations.IssueRight<Group> {

    private final CallFactory factory;
    private final Thread thread = Thread.currentThread();
    private final List<Transfer> transfers = new ArrayList<>();
    private final List<OperationCall> collectives = new ArrayList<>();
    private boolean open = true;

    GroupBuilder(CallFactory factory) {
        this.factory = factory;
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

    private void requireOpen() {
        if (!open || Thread.currentThread() != thread) {
            throw new IllegalStateException("group open=" + open + ": a Group is valid only within its body and on the "
                    + "body's thread; issue later operations on the communicator");
        }
    }

    @Override
    IssueRight<Group> begin() {
        requireOpen();
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
        requireOpen();
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
        requireOpen();
        factory.checkSendReceive(send, to, recv, from);
        transfers.add(new Transfer(false, to, send));
        transfers.add(new Transfer(true, from, recv));
        return this;
    }
}
