package io.jccl.runtime;

import io.jccl.nativelib.NativeCommunicator;

/**
 * An operation on device memory that the host carries out. When it is issued, its stream gets copies to pinned memory, a mark
 * behind them, a gate, and copies back; then it waits in the queue as one on memory of the host does. Whoever carries it out
 * waits for the mark, runs the collective on the pinned memory and opens the gate. However it ends, its gates are opened.
 */
abstract class StagedOperation extends Operation {

    private final StagedIssuer issuer;
    private final long stream;
    private long lastGate; // written by the thread that issues, before others know of the operation, as the next
    private long lastMark;
    private volatile boolean awaitsStream;
    private boolean entersNext; // touched by the thread that carries it out

    StagedOperation(StagedIssuer issuer, long stream) {
        super(issuer.queue());
        this.issuer = issuer;
        this.stream = stream;
    }

    final StagedIssuer issuer() {
        return issuer;
    }

    /** What it puts on its stream; it ends with a mark, and keeps the numbers of its marks and gates. */
    abstract void planSteps(StagingSteps steps);

    /** What the operation is, for messages. */
    abstract String describeCall();

    /** Lets go of buffers. */
    abstract void releaseBuffers();

    final void plan(StagingSteps steps) {
        planSteps(steps);
        lastGate = steps.nextGate() - 1;
        lastMark = steps.nextMark() - 1;
    }

    @Override
    final void enter() {
        issuer.put(this, stream);
        super.enter();
    }

    @Override
    final boolean isOnDevice() {
        return true;
    }

    /**
     * Returns when the stream has come to a mark of this operation.
     *
     * @param entersNext whether a collective of the host follows, which the others may have entered
     * @return {@link NativeCommunicator#OK}, or why it has not
     */
    final int awaitStream(long mark, boolean entersNext, long deadline) {
        awaitsStream = true;
        this.entersNext = entersNext;
        int status = issuer.await(mark, deadline);
        if (status == NativeCommunicator.OK) {
            awaitsStream = false; // what failed tells where it stood
            this.entersNext = false;
        }
        return status;
    }

    /** Of a rank whose stream has not come to the operation: the number that it would have had. */
    @Override
    long sequenceOfFailure() {
        return super.sequenceOfFailure() + (entersNext ? 1 : 0);
    }

    @Override
    final String describe() {
        return describeCall() + (awaitsStream ? " waiting for its stream to come to it" : "");
    }

    @Override
    final void release() {
        issuer.end(lastGate, lastMark);
        releaseBuffers();
    }
}
