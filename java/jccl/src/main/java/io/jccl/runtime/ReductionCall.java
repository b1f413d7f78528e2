package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.DataBuffer;
import io.jccl.Reduction;

/** A collective on host memory with a user-defined reduction. */
final class ReductionCall extends BufferCall {

    private final Reduction reduction;
    private final long count;
    private final long[] shards; // elements that each rank receives; null if all ranks or the root receive everything
    private final int root;

    /** @param shards elements that each rank receives; null if all ranks or the root receive everything */
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

    /** Returns the number of elements to reduce. */
    long count() {
        return count;
    }

    int root() {
        return root;
    }

    /**
     * Returns the number of elements that each rank folds: the given {@code shards}; if none were given, equal parts
     * that are multiples of the reduction's unit.
     */
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
