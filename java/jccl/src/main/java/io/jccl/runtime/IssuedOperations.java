package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.Group;
import io.jccl.Operations;
import io.jccl.ReduceOp;
import io.jccl.Work;
import java.util.function.Consumer;

/** Operations that are issued at once, by one thread at a time. */
abstract class IssuedOperations implements Operations<Work> {

    /** Takes the right to issue; the caller gives it back with {@link #end}, unless this throws. */
    abstract void begin();

    abstract void end();

    abstract OperationFactory factory();

    abstract Work append(Operation operation);

    @Override
    public Work allReduce(DataBuffer send, DataBuffer recv, ReduceOp op) {
        begin();
        try {
            return append(factory().allReduce(send, recv, op));
        } finally {
            end();
        }
    }

    @Override
    public Work reduce(DataBuffer send, DataBuffer recv, ReduceOp op, int root) {
        begin();
        try {
            return append(factory().reduce(send, recv, op, root));
        } finally {
            end();
        }
    }

    @Override
    public Work broadcast(DataBuffer send, DataBuffer recv, int root) {
        begin();
        try {
            return append(factory().broadcast(send, recv, root));
        } finally {
            end();
        }
    }

    @Override
    public Work allGather(DataBuffer send, DataBuffer recv) {
        begin();
        try {
            return append(factory().allGather(send, recv));
        } finally {
            end();
        }
    }

    @Override
    public Work allGatherV(DataBuffer send, DataBuffer recv, long[] counts) {
        begin();
        try {
            return append(factory().allGatherV(send, recv, counts));
        } finally {
            end();
        }
    }

    @Override
    public Work reduceScatter(DataBuffer send, DataBuffer recv, ReduceOp op) {
        begin();
        try {
            return append(factory().reduceScatter(send, recv, op));
        } finally {
            end();
        }
    }

    @Override
    public Work reduceScatterV(DataBuffer send, DataBuffer recv, long[] counts, ReduceOp op) {
        begin();
        try {
            return append(factory().reduceScatterV(send, recv, counts, op));
        } finally {
            end();
        }
    }

    @Override
    public Work allToAll(DataBuffer send, DataBuffer recv) {
        begin();
        try {
            return append(factory().allToAll(send, recv));
        } finally {
            end();
        }
    }

    @Override
    public Work allToAllV(
            DataBuffer send,
            long[] sendCounts,
            long[] sendOffsets,
            DataBuffer recv,
            long[] recvCounts,
            long[] recvOffsets) {
        begin();
        try {
            return append(factory().allToAllV(send, sendCounts, sendOffsets, recv, recvCounts, recvOffsets));
        } finally {
            end();
        }
    }

    @Override
    public Work gather(DataBuffer send, DataBuffer recv, int root) {
        begin();
        try {
            return append(factory().gather(send, recv, root));
        } finally {
            end();
        }
    }

    @Override
    public Work scatter(DataBuffer send, DataBuffer recv, int root) {
        begin();
        try {
            return append(factory().scatter(send, recv, root));
        } finally {
            end();
        }
    }

    @Override
    public Work send(int peer, DataBuffer buffer) {
        begin();
        try {
            return append(factory().send(peer, buffer));
        } finally {
            end();
        }
    }

    @Override
    public Work recv(int peer, DataBuffer buffer) {
        begin();
        try {
            return append(factory().recv(peer, buffer));
        } finally {
            end();
        }
    }

    @Override
    public Work barrier() {
        begin();
        try {
            return append(factory().barrier());
        } finally {
            end();
        }
    }

    /** See {@link io.jccl.Communicator#group}. */
    public Work group(Consumer<Group> body) {
        begin();
        try {
            GroupBuilder group = new GroupBuilder(factory());
            try {
                body.accept(group);
            } finally {
                group.end();
            }
            return append(group.operation());
        } finally {
            end();
        }
    }
}
