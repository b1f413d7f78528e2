package io.jccl.runtime;

import io.jccl.DataBuffer;

/** A collective on a device with counts per rank. */
final class DeviceVector extends DeviceOperation {

    private final int signature;
    private final long choice;
    private final long[] counts;
    private DataBuffer send;
    private DataBuffer recv;

    DeviceVector(
            DeviceIssuer device,
            long stream,
            int signature,
            long choice,
            DataBuffer send,
            DataBuffer recv,
            long[] counts) {
        super(device, stream);
        this.signature = signature;
        this.choice = choice;
        this.send = send;
        this.recv = recv;
        this.counts = counts;
    }

    @Override
    long execute(long timeoutNanos) {
        return device().engine()
                .runV(signature, choice, send.address(), recv.address(), counts, timeoutNanos, stream());
    }

    @Override
    long executed() {
        return device().engine().settle(signature, choice);
    }

    @Override
    String describe() {
        return Signatures.describe(signature, counts);
    }

    @Override
    void release() {
        send = null;
        recv = null;
    }
}
