package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.nativelib.Rows;
import io.jccl.runtime.TransfersCall.Transfer;

/** A send, a receive, or one of each at the same time, in host memory. Needs no lists, unlike {@link TransfersCall}. */
final class SendReceiveCall extends BufferCall {

    private static final int NOBODY = Rows.NO_PEER;

    private final int to;
    private final int from;
    private final DataType sendType;
    private final DataType recvType;
    private final long sendCount;
    private final long recvCount;

    /**
     * @param send null if nothing is sent
     * @param recv null if nothing is received
     */
    SendReceiveCall(DataBuffer send, int to, DataBuffer recv, int from) {
        super(Signatures.of(Collective.SEND_RECV, (send == null ? recv : send).type(), null), false, send, recv);
        this.to = send == null ? NOBODY : to;
        this.from = recv == null ? NOBODY : from;
        this.sendType = (send == null ? recv : send).type();
        this.recvType = (recv == null ? send : recv).type();
        this.sendCount = send == null ? 0 : send.count();
        this.recvCount = recv == null ? 0 : recv.count();
    }

    /** Returns the receiving rank; {@link Rows#NO_PEER} if nothing is sent. */
    int to() {
        return to;
    }

    /** Returns the sending rank; {@link Rows#NO_PEER} if nothing is received. */
    int from() {
        return from;
    }

    DataType sendType() {
        return sendType;
    }

    DataType recvType() {
        return recvType;
    }

    long sendCount() {
        return sendCount;
    }

    long recvCount() {
        return recvCount;
    }

    @Override
    public long dispatch(CallHandler handler, long timeoutNanos) {
        return handler.handle(this, timeoutNanos);
    }

    @Override
    public long bytes(int size) {
        return Math.max(sendCount * sendType.bytes(), recvCount * recvType.bytes());
    }

    @Override
    public boolean isTransfer() {
        return true;
    }

    @Override
    public String describe() {
        String sends = to == NOBODY ? "" : Transfer.describe(false, to, sendType, sendCount);
        String receives = from == NOBODY ? "" : Transfer.describe(true, from, recvType, recvCount);
        return to == NOBODY || from == NOBODY
                ? sends + receives
                : "send_recv(transfers=2 " + sends + " " + receives + ")";
    }
}
