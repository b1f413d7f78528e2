package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.Group;
import io.jccl.Operations;
import io.jccl.ReduceOp;
import io.jccl.Work;
import java.util.function.Consumer;
import java.util.function.Function;

/** Operations that are issued at once, by one thread at a time. */
abstract class IssuedOperations implements Operations<Work> {

    /** Takes the right to issue; the caller gives it back with {@link #end}, unless this throws. */
    abstract void begin();

    abstract void end();

    abstract OperationFactory factory();

    abstract Work append(Operation operation);

    /** Makes an operation and appends it, while nobody else issues. */
    private Work issue(Function<OperationFactory, Operation> maker) {
        begin();
        try {
            return append(maker.apply(factory()));
        } finally {
            end();
        }
    }

    @Override
    public Work allReduce(DataBuffer send, DataBuffer recv, ReduceOp op) {
        return issue(factory -> factory.allReduce(send, recv, op));
    }

    @Override
    public Work reduce(DataBuffer send, DataBuffer recv, ReduceOp op, int root) {
        return issue(factory -> factory.reduce(send, recv, op, root));
    }

    @Override
    public Work broadcast(DataBuffer send, DataBuffer recv, int root) {
        return issue(factory -> factory.broadcast(send, recv, root));
    }

    @Override
    public Work allGather(DataBuffer send, DataBuffer recv) {
        return issue(factory -> factory.allGather(send, recv));
    }

    @Override
    public Work allGatherV(DataBuffer send, DataBuffer recv, long[] counts) {
        return issue(factory -> factory.allGatherV(send, recv, counts));
    }

    @Override
    public Work reduceScatter(DataBuffer send, DataBuffer recv, ReduceOp op) {
        return issue(factory -> factory.reduceScatter(send, recv, op));
    }

    @Override
    public Work reduceScatterV(DataBuffer send, DataBuffer recv, long[] counts, ReduceOp op) {
        return issue(factory -> factory.reduceScatterV(send, recv, counts, op));
    }

    @Override
    public Work allToAll(DataBuffer send, DataBuffer recv) {
        return issue(factory -> factory.allToAll(send, recv));
    }

    @Override
    public Work allToAllV(
            DataBuffer send,
            long[] sendCounts,
            long[] sendOffsets,
            DataBuffer recv,
            long[] recvCounts,
            long[] recvOffsets) {
        return issue(factory -> factory.allToAllV(send, sendCounts, sendOffsets, recv, recvCounts, recvOffsets));
    }

    @Override
    public Work gather(DataBuffer send, DataBuffer recv, int root) {
        return issue(factory -> factory.gather(send, recv, root));
    }

    @Override
    public Work scatter(DataBuffer send, DataBuffer recv, int root) {
        return issue(factory -> factory.scatter(send, recv, root));
    }

    @Override
    public Work send(int peer, DataBuffer buffer) {
        return issue(factory -> factory.send(peer, buffer));
    }

    @Override
    public Work recv(int peer, DataBuffer buffer) {
        return issue(factory -> factory.recv(peer, buffer));
    }

    @Override
    public Work barrier() {
        return issue(OperationFactory::barrier);
    }

    /** See {@link io.jccl.Communicator#group}. */
    public Work group(Consumer<Group> body) {
        Checks.required("body", body, "what adds operations to the group");
        return issue(factory -> {
            GroupBuilder group = new GroupBuilder(factory);
            try {
                body.accept(group);
            } finally {
                group.end();
            }
            return group.operation();
        });
    }
}
