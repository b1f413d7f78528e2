package io.jccl.runtime;

import io.jccl.DataBuffer;

/** A collective with one count for all ranks. */
final class CollectiveOperation extends BufferOperation {

    private final long count;
    private final int root;

    CollectiveOperation(
            OperationQueue queue,
            int signature,
            long choice,
            DataBuffer send,
            DataBuffer recv,
            long count,
            int root,
            HeapStaging staging) {
        super(queue, signature, choice, send, recv, staging);
        this.count = count;
        this.root = root;
    }

    @Override
    long call(long from, long to, long timeoutNanos) {
        return queue().engine().run(signature, choice, from, to, count, root, timeoutNanos);
    }

    @Override
    boolean fillsRecv() {
        return true;
    }

    @Override
    String describe() {
        return Signatures.describe(signature, count, root);
    }
}
