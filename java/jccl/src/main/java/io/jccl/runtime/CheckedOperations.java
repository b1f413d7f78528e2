package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.Operations;
import io.jccl.ReduceOp;
import io.jccl.Reduction;
import io.jccl.WireFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Operations whose arguments a {@link CallFactory} checks.
 *
 * @param <R> type of the result of issuing an operation
 */
abstract class CheckedOperations<R> implements Operations<R> {

    /** The right to issue, which {@link #close} gives back. */
    interface IssueRight<R> extends AutoCloseable {

        CallFactory factory();

        R issue(OperationCall call);

        @Override
        void close();
    }

    /**
     * Takes the right to issue. Creates no object, so that calls make no garbage.
     *
     * @param first a buffer of the call, or null, like {@code second}; if nothing is issued, its owner learns that no
     *     operation uses it
     */
    abstract IssueRight<R> begin(@Nullable DataBuffer first, @Nullable DataBuffer second);

    /** Like {@link #begin(DataBuffer, DataBuffer)}, for a call with a list of buffers. */
    abstract IssueRight<R> begin(@Nullable List<DataBuffer> buffers);

    @Override
    public R allReduce(DataBuffer send, DataBuffer recv, ReduceOp op) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().allReduce(send, recv, op));
        }
    }

    @Override
    public R allReduce(List<DataBuffer> buffers, ReduceOp op) {
        try (IssueRight<R> right = begin(buffers)) {
            return right.issue(right.factory().allReduce(buffers, op));
        }
    }

    @Override
    public R allReduce(DataBuffer send, DataBuffer recv, Reduction reduction) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().allReduce(send, recv, reduction));
        }
    }

    @Override
    public R reduce(DataBuffer send, DataBuffer recv, Reduction reduction, int root) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().reduce(send, recv, reduction, root));
        }
    }

    @Override
    public R reduceScatter(DataBuffer send, DataBuffer recv, Reduction reduction) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().reduceScatter(send, recv, reduction));
        }
    }

    @Override
    public R reduceScatterV(DataBuffer send, DataBuffer recv, long[] counts, Reduction reduction) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().reduceScatterV(send, recv, counts, reduction));
        }
    }

    @Override
    public R reduce(DataBuffer send, DataBuffer recv, ReduceOp op, int root) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().reduce(send, recv, op, root));
        }
    }

    @Override
    public R broadcast(DataBuffer send, DataBuffer recv, int root) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().broadcast(send, recv, root));
        }
    }

    @Override
    public R allGather(DataBuffer send, DataBuffer recv) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().allGather(send, recv));
        }
    }

    @Override
    public R allGatherV(DataBuffer send, DataBuffer recv, long[] counts) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().allGatherV(send, recv, counts));
        }
    }

    @Override
    public R reduceScatter(DataBuffer buffer, ReduceOp op) {
        try (IssueRight<R> right = begin(buffer, null)) {
            return right.issue(right.factory().reduceScatter(buffer, op));
        }
    }

    @Override
    public R reduceScatter(DataBuffer send, DataBuffer recv, ReduceOp op) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().reduceScatter(send, recv, op));
        }
    }

    @Override
    public R reduceScatterV(DataBuffer send, DataBuffer recv, long[] counts, ReduceOp op) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().reduceScatterV(send, recv, counts, op));
        }
    }

    @Override
    public R scan(DataBuffer send, DataBuffer recv, ReduceOp op) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().scan(send, recv, op));
        }
    }

    @Override
    public R exscan(DataBuffer send, DataBuffer recv, ReduceOp op) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().exscan(send, recv, op));
        }
    }

    @Override
    public R allToAll(DataBuffer send, DataBuffer recv) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().allToAll(send, recv));
        }
    }

    @Override
    public R allToAllV(
            DataBuffer send,
            long[] sendCounts,
            long[] sendOffsets,
            DataBuffer recv,
            long[] recvCounts,
            long[] recvOffsets) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().allToAllV(send, sendCounts, sendOffsets, recv, recvCounts, recvOffsets));
        }
    }

    @Override
    public R gather(DataBuffer send, DataBuffer recv, int root) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().gather(send, recv, root));
        }
    }

    @Override
    public R scatter(DataBuffer send, DataBuffer recv, int root) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().scatter(send, recv, root));
        }
    }

    @Override
    public R gatherV(DataBuffer send, DataBuffer recv, long[] counts, int root) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().gatherV(send, recv, counts, root));
        }
    }

    @Override
    public R scatterV(DataBuffer send, long[] counts, DataBuffer recv, int root) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().scatterV(send, counts, recv, root));
        }
    }

    @Override
    public R gatherV(DataBuffer send, DataBuffer recv, long[] counts, long[] offsets, int root) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().gatherV(send, recv, counts, offsets, root));
        }
    }

    @Override
    public R scatterV(DataBuffer send, long[] counts, long[] offsets, DataBuffer recv, int root) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().scatterV(send, counts, offsets, recv, root));
        }
    }

    @Override
    public R send(int peer, DataBuffer buffer) {
        try (IssueRight<R> right = begin(buffer, null)) {
            return right.issue(right.factory().send(peer, buffer));
        }
    }

    @Override
    public R recv(int peer, DataBuffer buffer) {
        try (IssueRight<R> right = begin(buffer, null)) {
            return right.issue(right.factory().recv(peer, buffer));
        }
    }

    @Override
    public R sendReceive(DataBuffer send, int to, DataBuffer recv, int from) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().sendReceive(send, to, recv, from));
        }
    }

    @Override
    public R barrier() {
        try (IssueRight<R> right = begin(null, null)) {
            return right.issue(right.factory().barrier());
        }
    }

    @Override
    public R allReduce(DataBuffer send, DataBuffer recv, ReduceOp op, WireFormat wire) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().allReduce(send, recv, op, wire));
        }
    }

    @Override
    public R allReduce(List<DataBuffer> buffers, ReduceOp op, WireFormat wire) {
        try (IssueRight<R> right = begin(buffers)) {
            return right.issue(right.factory().allReduce(buffers, op, wire));
        }
    }

    @Override
    public R broadcast(DataBuffer send, DataBuffer recv, int root, WireFormat wire) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().broadcast(send, recv, root, wire));
        }
    }

    @Override
    public R allGather(DataBuffer send, DataBuffer recv, WireFormat wire) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().allGather(send, recv, wire));
        }
    }

    @Override
    public R allGatherV(DataBuffer send, DataBuffer recv, long[] counts, WireFormat wire) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().allGatherV(send, recv, counts, wire));
        }
    }

    @Override
    public R reduceScatter(DataBuffer send, DataBuffer recv, ReduceOp op, WireFormat wire) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().reduceScatter(send, recv, op, wire));
        }
    }

    @Override
    public R reduceScatterV(DataBuffer send, DataBuffer recv, long[] counts, ReduceOp op, WireFormat wire) {
        try (IssueRight<R> right = begin(send, recv)) {
            return right.issue(right.factory().reduceScatterV(send, recv, counts, op, wire));
        }
    }
}
