package io.jccl.runtime;

import io.jccl.DataBuffer;

/** A collective in which all ranks pass the same count. */
final class CollectiveCall extends BufferCall {

    private final long count;
    private final int root;
    private final long wireSeed;

    CollectiveCall(
            int signature, boolean onDevice, DataBuffer send, DataBuffer recv, long count, int root, long wireSeed) {
        super(signature, onDevice, send, recv);
        this.wireSeed = wireSeed;
        this.count = count;
        this.root = root;
    }

    long count() {
        return count;
    }

    int root() {
        return root;
    }

    /** Returns the seed of stochastic rounding between hosts. */
    long wireSeed() {
        return wireSeed;
    }

    @Override
    public long dispatch(CallHandler handler, long timeoutNanos) {
        return handler.handle(this, timeoutNanos);
    }

    @Override
    public long bytes(int size) {
        return bytesOf(count, size);
    }

    /** Returns the bytes of the largest buffer of any rank if {@code elements} were the count. */
    long bytesOf(long elements, int size) {
        return Signatures.elements(collective(), elements, size) * type().bytes();
    }

    @Override
    public StagedBackend.StagedCall staged(StagedBackend backend) {
        return StagedCollective.of(backend, this);
    }

    @Override
    public String describe() {
        return Signatures.describe(signature(), count, root);
    }
}
