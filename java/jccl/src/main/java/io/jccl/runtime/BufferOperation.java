package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.nativelib.NativeCommunicator;
import java.lang.ref.Reference;

/** A collective that sends from one buffer and receives in one; heap buffers are staged. */
abstract class BufferOperation extends Operation {

    final int signature;
    final long choice;
    private final HeapStaging staging; // null if no buffer is on the heap
    private DataBuffer send; // null where this rank sends nothing
    private DataBuffer recv; // null where this rank receives nothing

    /**
     * @param signature collective, type and reduction, as {@link Signatures} packs them
     * @param choice algorithm, protocol and channels
     * @param staging null if no buffer is on the heap
     */
    BufferOperation(
            OperationQueue queue, int signature, long choice, DataBuffer send, DataBuffer recv, HeapStaging staging) {
        super(queue);
        this.signature = signature;
        this.choice = choice;
        this.send = send;
        this.recv = recv;
        this.staging = staging;
    }

    /**
     * The native call.
     *
     * @param from where to send from; 0 where this rank sends nothing
     * @param to where to receive; 0 where this rank receives nothing
     * @return as {@link #execute}
     */
    abstract long call(long from, long to, long timeoutNanos);

    /** Whether the operation writes every element of the receive buffer; what it leaves out must survive staging. */
    abstract boolean fillsRecv();

    @Override
    final long execute(long timeoutNanos) {
        if (staging != null) {
            return executeStaged(timeoutNanos);
        }
        DataBuffer from = send;
        DataBuffer to = recv;
        long outcome = call(from == null ? 0 : from.pinnedAddress(), to == null ? 0 : to.pinnedAddress(), timeoutNanos);
        Reference.reachabilityFence(from);
        Reference.reachabilityFence(to);
        return outcome;
    }

    private long executeStaged(long timeoutNanos) {
        DataBuffer from = send;
        DataBuffer to = recv;
        long[] places = fillsRecv() ? staging.stage(from, to) : staging.stageKeepingGaps(from, to);
        long outcome = call(places[0], places[1], timeoutNanos);
        if (outcome >= NativeCommunicator.OK) {
            staging.unstage(to, places[1]);
        }
        Reference.reachabilityFence(from); // one of the two may be direct
        Reference.reachabilityFence(to);
        return outcome;
    }

    @Override
    final void pin() {
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
    final void release() {
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
