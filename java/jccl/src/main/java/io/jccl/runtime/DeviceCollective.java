package io.jccl.runtime;

import io.jccl.DataBuffer;

/** A collective on a device with one count for all ranks. */
final class DeviceCollective extends DeviceOperation {

    private final int signature;
    private final long choice;
    private final long count;
    private final int root;
    private DataBuffer send; // null where this rank sends nothing
    private DataBuffer recv; // null where this rank receives nothing

    DeviceCollective(
            DeviceIssuer device,
            long stream,
            int signature,
            long choice,
            DataBuffer send,
            DataBuffer recv,
            long count,
            int root) {
        super(device, stream);
        this.signature = signature;
        this.choice = choice;
        this.send = send;
        this.recv = recv;
        this.count = count;
        this.root = root;
    }

    @Override
    long execute(long timeoutNanos) {
        return device().engine()
                .run(
                        signature,
                        choice,
                        send == null ? 0 : send.address(),
                        recv == null ? 0 : recv.address(),
                        count,
                        root,
                        timeoutNanos,
                        stream());
    }

    @Override
    long executed() {
        return device().engine().settle(signature, choice);
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
