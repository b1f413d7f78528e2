package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.DataBuffer;
import io.jccl.DataType;

/** An operation with at most one send buffer and at most one receive buffer. */
abstract sealed class BufferCall implements OperationCall
        permits CollectiveCall, VectorCall, ReductionCall, SendReceiveCall {

    private final int signature;
    private final boolean onDevice;
    private DataBuffer send;
    private DataBuffer recv;

    /** @param signature the collective, type and reduction, packed by {@link Signatures} */
    BufferCall(int signature, boolean onDevice, DataBuffer send, DataBuffer recv) {
        this.signature = signature;
        this.onDevice = onDevice;
        this.send = send;
        this.recv = recv;
    }

    final int signature() {
        return signature;
    }

    final Collective collective() {
        return Signatures.collective(signature);
    }

    final DataType type() {
        return Signatures.type(signature);
    }

    /** Returns the send buffer; null if this rank sends nothing, and after {@link #release}. */
    final DataBuffer send() {
        return send;
    }

    /** Returns the receive buffer; null if this rank receives nothing, and after {@link #release}. */
    final DataBuffer recv() {
        return recv;
    }

    /** The bytes of the largest buffer of any rank, by which all ranks choose the algorithm. */
    @Override
    public abstract long bytes(int size);

    /**
     * Returns true if a buffer may have gaps between its blocks. The operation must not change the elements in the
     * gaps.
     */
    boolean leavesGaps() {
        return false;
    }

    /** Returns true if only the two ranks of each pair know how much is sent between them. */
    boolean isExchange() {
        return false;
    }

    @Override
    public final boolean isOnDevice() {
        return onDevice;
    }

    @Override
    public final void pin() {
        if (send != null) {
            send.pin();
        }
        if (recv == null || recv == send) {
            return;
        }
        try {
            recv.pin();
        } catch (IllegalStateException closed) {
            recv = null;
            release();
            throw closed;
        }
    }

    @Override
    public final void release() {
        if (send != null) {
            send.unpin();
        }
        if (recv != null && recv != send) {
            recv.unpin();
        }
        send = null;
        recv = null;
    }
}
