package io.jccl.runtime;

import io.jccl.DataBuffer;
import java.util.Arrays;

/** A collective with counts per rank. */
final class VectorOperation extends BufferOperation {

    private static final int COUNTS_SHOWN = 64;

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
        return Signatures.collective(signature).label() + "(type="
                + Signatures.type(signature).label()
                + (Signatures.op(signature) == null
                        ? ""
                        : " op=" + Signatures.op(signature).label()) + " counts="
                + (counts.length <= COUNTS_SHOWN ? Arrays.toString(counts) : "[" + counts.length + " values]") + ")";
    }
}
