package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.DataBuffer;

/** A collective with a count per rank. */
final class VectorCall extends BufferCall {

    private final long[] counts;
    private final int root;

    /** @param counts rows of one value per rank: counts and offsets of blocks, or those to send and those to receive */
    VectorCall(int signature, boolean onDevice, DataBuffer send, DataBuffer recv, long[] counts, int root) {
        super(signature, onDevice, send, recv);
        this.counts = counts;
        this.root = root;
    }

    int root() {
        return root;
    }

    long[] counts() {
        return counts;
    }

    /** In an all-to-all sizes differ between ranks, and no rank knows those of others: there it is 0. */
    @Override
    public long dispatch(CallHandler handler, long timeoutNanos) {
        return handler.handle(this, timeoutNanos);
    }

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

    /** The elements of all blocks. */
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
