package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.DataBuffer;
import io.jccl.Reduction;

/** A collective on memory of the host with a user-defined reduction. */
final class ReductionCall extends BufferCall {

    private final Reduction reduction;
    private final long count;
    private final long[] shards; // elements that each rank receives; null: all receive all, or the root does
    private final int root;

    /** @param shards elements that each rank receives; null where all receive all, or the root does */
    ReductionCall(
            Collective collective, Reduction reduction, DataBuffer send, DataBuffer recv, long[] shards, int root) {
        super(Signatures.ofUserReduction(collective, send.type()), false, send, recv);
        this.reduction = reduction;
        this.count = send.count();
        this.shards = shards;
        this.root = root;
    }

    Reduction reduction() {
        return reduction;
    }

    /** The elements of the buffer that is reduced. */
    long count() {
        return count;
    }

    int root() {
        return root;
    }

    /** The elements that each rank folds: those that it receives, or as equal a part of all as units allow. */
    long[] shards(int size) {
        if (shards != null) {
            return shards;
        }
        long units = count / reduction.unit();
        long[] equal = new long[size];
        for (int rank = 0; rank < size; rank++) {
            equal[rank] = (units / size + (rank < units % size ? 1 : 0)) * reduction.unit();
        }
        return equal;
    }

    @Override
    public long dispatch(CallHandler handler, long timeoutNanos) {
        return handler.handle(this, timeoutNanos);
    }

    @Override
    public long bytes(int size) {
        return count * type().bytes();
    }

    @Override
    public String describe() {
        return collective().label() + "(type=" + type().label() + " op=" + reduction + " count=" + count
                + (collective().hasRoot() ? " root=" + root : "") + ")";
    }
}
