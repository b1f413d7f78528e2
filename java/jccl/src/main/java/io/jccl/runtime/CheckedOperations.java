package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.Operations;
import io.jccl.ReduceOp;
import java.util.function.Function;

/**
 * Operations whose arguments a {@link CallFactory} checks.
 *
 * @param <R> what issuing returns
 */
abstract class CheckedOperations<R> implements Operations<R> {

    /** Makes a call and issues it. */
    abstract R issue(Function<CallFactory, OperationCall> maker);

    @Override
    public R allReduce(DataBuffer send, DataBuffer recv, ReduceOp op) {
        return issue(factory -> factory.allReduce(send, recv, op));
    }

    @Override
    public R reduce(DataBuffer send, DataBuffer recv, ReduceOp op, int root) {
        return issue(factory -> factory.reduce(send, recv, op, root));
    }

    @Override
    public R broadcast(DataBuffer send, DataBuffer recv, int root) {
        return issue(factory -> factory.broadcast(send, recv, root));
    }

    @Override
    public R allGather(DataBuffer send, DataBuffer recv) {
        return issue(factory -> factory.allGather(send, recv));
    }

    @Override
    public R allGatherV(DataBuffer send, DataBuffer recv, long[] counts) {
        return issue(factory -> factory.allGatherV(send, recv, counts));
    }

    @Override
    public R reduceScatter(DataBuffer send, DataBuffer recv, ReduceOp op) {
        return issue(factory -> factory.reduceScatter(send, recv, op));
    }

    @Override
    public R reduceScatterV(DataBuffer send, DataBuffer recv, long[] counts, ReduceOp op) {
        return issue(factory -> factory.reduceScatterV(send, recv, counts, op));
    }

    @Override
    public R allToAll(DataBuffer send, DataBuffer recv) {
        return issue(factory -> factory.allToAll(send, recv));
    }

    @Override
    public R allToAllV(
            DataBuffer send,
            long[] sendCounts,
            long[] sendOffsets,
            DataBuffer recv,
            long[] recvCounts,
            long[] recvOffsets) {
        return issue(factory -> factory.allToAllV(send, sendCounts, sendOffsets, recv, recvCounts, recvOffsets));
    }

    @Override
    public R gather(DataBuffer send, DataBuffer recv, int root) {
        return issue(factory -> factory.gather(send, recv, root));
    }

    @Override
    public R scatter(DataBuffer send, DataBuffer recv, int root) {
        return issue(factory -> factory.scatter(send, recv, root));
    }

    @Override
    public R send(int peer, DataBuffer buffer) {
        return issue(factory -> factory.send(peer, buffer));
    }

    @Override
    public R recv(int peer, DataBuffer buffer) {
        return issue(factory -> factory.recv(peer, buffer));
    }

    @Override
    public R barrier() {
        return issue(CallFactory::barrier);
    }
}
