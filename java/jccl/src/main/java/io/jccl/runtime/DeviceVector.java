package io.jccl.runtime;

import io.jccl.DataBuffer;

/** A collective on a device with counts per rank. */
final class DeviceVector extends DeviceBufferOperation {

    private final long[] counts;

    DeviceVector(
            DeviceIssuer device,
            long stream,
            int signature,
            long choice,
            DataBuffer send,
            DataBuffer recv,
            long[] counts) {
        super(device, stream, signature, choice, send, recv);
        this.counts = counts;
    }

    @Override
    long call(long from, long to, long timeoutNanos) {
        return device().engine().runV(signature, choice, from, to, counts, timeoutNanos, stream());
    }

    @Override
    String describe() {
        return Signatures.describe(signature, counts);
    }
}
