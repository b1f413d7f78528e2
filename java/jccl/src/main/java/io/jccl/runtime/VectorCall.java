package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.DataBuffer;

/** A v-form: a collective with a count for each rank. */
final class VectorCall extends BufferCall {

    private final long[] counts;
    private final int root;
    private final long wireSeed;

    /**
     * @param counts rows of one value per rank: counts of the blocks, then their offsets; for an all-to-all, counts and
     *     offsets in the send buffer, then counts and offsets in the receive buffer
     */
    VectorCall(
            int signature, boolean onDevice, DataBuffer send, DataBuffer recv, long[] counts, int root, long wireSeed) {
        super(signature, onDevice, send, recv);
        this.wireSeed = wireSeed;
        this.counts = counts;
        this.root = root;
    }

    int root() {
        return root;
    }

    long[] counts() {
        return counts;
    }

    /** Returns the seed of stochastic rounding between hosts. */
    long wireSeed() {
        return wireSeed;
    }

    @Override
    public long dispatch(CallHandler handler, long timeoutNanos) {
        return handler.handle(this, timeoutNanos);
    }

    /**
     * Returns the bytes of all blocks together; 0 for an all-to-all, because no rank knows the sizes of the other
     * ranks' buffers.
     */
    @Override
    public long bytes(int size) {
        return isExchange() ? 0 : total(size) * type().bytes();
    }

    @Override
    boolean leavesGaps() {
        return true;
    }

    @Override
    boolean isExchange() {
        return collective() == Collective.ALL_TO_ALL;
    }

    /** Returns the number of elements of all blocks together. */
    long total(int size) {
        long sum = 0;
        for (int rank = 0; rank < size; rank++) {
            sum += counts[rank];
        }
        return sum;
    }

    @Override
    public StagedBackend.StagedCall staged(StagedBackend backend) {
        return StagedCollective.of(backend, this);
    }

    @Override
    public String describe() {
        return Signatures.describe(signature(), counts, root);
    }
}
