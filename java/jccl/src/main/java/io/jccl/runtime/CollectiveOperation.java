package io.jccl.runtime;

import io.jccl.DataBuffer;
import java.lang.ref.Reference;

/** A collective with one count for all ranks. */
final class CollectiveOperation extends Operation {

    private final int signature;
    private final long choice;
    private final long count;
    private final int root;
    private final HeapStaging staging; // null if no buffer is on the heap
    private DataBuffer send; // null where this rank sends nothing
    private DataBuffer recv; // null where this rank receives nothing

    CollectiveOperation(
            OperationQueue queue,
            int signature,
            long choice,
            DataBuffer send,
            DataBuffer recv,
            long count,
            int root,
            HeapStaging staging) {
        super(queue);
        this.signature = signature;
        this.choice = choice;
        this.send = send;
        this.recv = recv;
        this.count = count;
        this.root = root;
        this.staging = staging;
    }

    @Override
    int execute(long timeoutNanos) {
        if (staging != null) {
            return executeStaged(timeoutNanos);
        }
        DataBuffer from = send;
        DataBuffer to = recv;
        long fromAddress = from == null ? 0 : from.address();
        long toAddress = to == null ? 0 : to.address();
        int status = queue().engine().run(signature, choice, fromAddress, toAddress, count, root, timeoutNanos);
        Reference.reachabilityFence(from);
        Reference.reachabilityFence(to);
        return status;
    }

    private int executeStaged(long timeoutNanos) {
        long[] places = staging.stage(send, recv);
        int status = queue().engine().run(signature, choice, places[0], places[1], count, root, timeoutNanos);
        if (status == 0) {
            staging.unstage(recv, places[1]);
        }
        return status;
    }

    @Override
    String describe() {
        return Signatures.describe(signature, count, root);
    }

    @Override
    void release() {
        send = null;
        recv = null;
    }
}
