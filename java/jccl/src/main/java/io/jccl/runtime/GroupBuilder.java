package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.Group;
import io.jccl.ReduceOp;
import java.util.ArrayList;
import java.util.List;

/** Collects the operations of a group while its body runs. */
final class GroupBuilder implements Group {

    private final OperationFactory factory;
    private final Thread thread = Thread.currentThread();
    private final List<PointToPointOperation.Transfer> transfers = new ArrayList<>();
    private final List<Operation> collectives = new ArrayList<>();
    private boolean open = true;

    GroupBuilder(OperationFactory factory) {
        this.factory = factory;
    }

    /** Ends the body: from now on the group refuses operations. */
    void end() {
        open = false;
    }

    /** Everything that was collected as one operation. */
    Operation operation() {
        List<Operation> members = new ArrayList<>(collectives.size() + 1);
        if (!transfers.isEmpty()) {
            members.add(factory.pointToPoint(transfers));
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

    private Group add(Operation operation) {
        collectives.add(operation);
        return this;
    }

    @Override
    public Group allReduce(DataBuffer send, DataBuffer recv, ReduceOp op) {
        requireOpen();
        return add(factory.allReduce(send, recv, op));
    }

    @Override
    public Group reduce(DataBuffer send, DataBuffer recv, ReduceOp op, int root) {
        requireOpen();
        return add(factory.reduce(send, recv, op, root));
    }

    @Override
    public Group broadcast(DataBuffer send, DataBuffer recv, int root) {
        requireOpen();
        return add(factory.broadcast(send, recv, root));
    }

    @Override
    public Group allGather(DataBuffer send, DataBuffer recv) {
        requireOpen();
        return add(factory.allGather(send, recv));
    }

    @Override
    public Group allGatherV(DataBuffer send, DataBuffer recv, long[] counts) {
        requireOpen();
        return add(factory.allGatherV(send, recv, counts));
    }

    @Override
    public Group reduceScatter(DataBuffer send, DataBuffer recv, ReduceOp op) {
        requireOpen();
        return add(factory.reduceScatter(send, recv, op));
    }

    @Override
    public Group reduceScatterV(DataBuffer send, DataBuffer recv, long[] counts, ReduceOp op) {
        requireOpen();
        return add(factory.reduceScatterV(send, recv, counts, op));
    }

    @Override
    public Group allToAll(DataBuffer send, DataBuffer recv) {
        requireOpen();
        return add(factory.allToAll(send, recv));
    }

    @Override
    public Group allToAllV(
            DataBuffer send,
            long[] sendCounts,
            long[] sendOffsets,
            DataBuffer recv,
            long[] recvCounts,
            long[] recvOffsets) {
        requireOpen();
        return add(factory.allToAllV(send, sendCounts, sendOffsets, recv, recvCounts, recvOffsets));
    }

    @Override
    public Group gather(DataBuffer send, DataBuffer recv, int root) {
        requireOpen();
        return add(factory.gather(send, recv, root));
    }

    @Override
    public Group scatter(DataBuffer send, DataBuffer recv, int root) {
        requireOpen();
        return add(factory.scatter(send, recv, root));
    }

    @Override
    public Group send(int peer, DataBuffer buffer) {
        requireOpen();
        transfers.add(factory.transfer(false, peer, buffer));
        return this;
    }

    @Override
    public Group recv(int peer, DataBuffer buffer) {
        requireOpen();
        transfers.add(factory.transfer(true, peer, buffer));
        return this;
    }

    @Override
    public Group barrier() {
        requireOpen();
        return add(factory.barrier());
    }
}
