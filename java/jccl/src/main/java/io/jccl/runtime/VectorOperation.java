package io.jccl.runtime;

import io.jccl.DataBuffer;

/** A collective with counts per rank. */
final class VectorOperation extends BufferOperation {

    private final long[] counts;

    VectorOperation(
            OperationQueue queue,
            int signature,
            long choice,
            DataBuffer send,
            DataBuffer recv,
            long[] counts,
            HeapStaging staging) {
        super(queue, signature, choice, send, recv, staging);
        this.counts = counts;
    }

    @Override
    long call(long from, long to, long timeoutNanos) {
        return queue().engine().runV(signature, choice, from, to, counts, timeoutNanos);
    }

    @Override
    boolean fillsRecv() {
        return false;
    }

    @Override
    String describe() {
        return Signatures.describe(signature, counts);
    }
}
