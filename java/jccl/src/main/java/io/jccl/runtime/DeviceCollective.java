package io.jccl.runtime;

import io.jccl.DataBuffer;

/** A collective on a device with one count for all ranks. */
final class DeviceCollective extends DeviceBufferOperation {

    private final long count;
    private final int root;

    DeviceCollective(
            DeviceIssuer device,
            long stream,
            int signature,
            long choice,
            DataBuffer send,
            DataBuffer recv,
            long count,
            int root) {
        super(device, stream, signature, choice, send, recv);
        this.count = count;
        this.root = root;
    }

    @Override
    long call(long from, long to, long timeoutNanos) {
        return device().engine().run(signature, choice, from, to, count, root, timeoutNanos, stream());
    }

    @Override
    String describe() {
        return Signatures.describe(signature, count, root);
    }
}
