package io.jccl.runtime;

import io.jccl.DataBuffer;

/** A collective on a device that sends from one buffer and receives in one. */
abstract class DeviceBufferOperation extends DeviceOperation {

    final int signature;
    final long choice;
    private DataBuffer send; // null where this rank sends nothing
    private DataBuffer recv; // null where this rank receives nothing

    /**
     * @param signature collective, type and reduction, as {@link Signatures} packs them
     * @param choice algorithm, protocol and channels
     */
    DeviceBufferOperation(
            DeviceIssuer device, long stream, int signature, long choice, DataBuffer send, DataBuffer recv) {
        super(device, stream);
        this.signature = signature;
        this.choice = choice;
        this.send = send;
        this.recv = recv;
    }

    /**
     * The native call.
     *
     * @param from where to send from; 0 where this rank sends nothing
     * @param to where to receive; 0 where this rank receives nothing
     * @return as {@link #execute}
     */
    abstract long call(long from, long to, long timeoutNanos);

    @Override
    final long execute(long timeoutNanos) {
        return call(send == null ? 0 : send.address(), recv == null ? 0 : recv.address(), timeoutNanos);
    }

    @Override
    final long executed() {
        return device().engine().adjustChoice(signature, choice);
    }

    @Override
    final void release() {
        send = null;
        recv = null;
    }
}
