package io.jccl.runtime;

import io.jccl.DataBuffer;
import java.lang.ref.Reference;
import java.util.Arrays;

/** A collective with counts per rank. */
final class VectorOperation extends Operation {

    private final int signature;
    private final long choice;
    private final long[] counts;
    private final HeapStaging staging; // null if no buffer is on the heap
    private DataBuffer send;
    private DataBuffer recv;

    VectorOperation(
            OperationQueue queue,
            int signature,
            long choice,
            DataBuffer send,
            DataBuffer recv,
            long[] counts,
            HeapStaging staging) {
        super(queue);
        this.signature = signature;
        this.choice = choice;
        this.send = send;
        this.recv = recv;
        this.counts = counts;
        this.staging = staging;
    }

    @Override
    int execute(long timeoutNanos) {
        if (staging != null) {
            long[] places = staging.stageKeepingGaps(send, recv);
            int status = queue().engine().runV(signature, choice, places[0], places[1], counts, timeoutNanos);
            if (status == 0) {
                staging.unstage(recv, places[1]);
            }
            return status;
        }
        DataBuffer from = send;
        DataBuffer to = recv;
        int status = queue().engine().runV(signature, choice, from.address(), to.address(), counts, timeoutNanos);
        Reference.reachabilityFence(from);
        Reference.reachabilityFence(to);
        return status;
    }

    @Override
    String describe() {
        return Signatures.collective(signature).label() + "(type="
                + Signatures.type(signature).label()
                + (Signatures.op(signature) == null
                        ? ""
                        : " op=" + Signatures.op(signature).label()) + " counts="
                + (counts.length <= 64 ? Arrays.toString(counts) : "[" + counts.length + " values]") + ")";
    }

    @Override
    void release() {
        send = null;
        recv = null;
    }
}
