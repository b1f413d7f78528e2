package io.jccl.runtime;

import io.jccl.init.StagedDevice;
import io.jccl.nativelib.NativeCommunicator;
import io.jccl.runtime.StagedPieces.Piece;

/**
 * A collective on device memory that the host carries out piece by piece. Two slots take turns, so that one piece is copied
 * while another is on its way between the ranks:
 *
 * <pre>
 *     stream   in 0 │ in 1 │ gate 0 │ out 0 │ in 2 │ gate 1 │ out 1 │ gate 2 │ out 2
 *     host            0             │ 1                     │ 2
 * </pre>
 */
abstract class StagedBufferOperation extends StagedOperation {

    private static final int SLOTS = StagedDevice.SLOTS;

    final CollectiveCall call;
    private StagedPieces pieces;
    private final int count; // of the pieces
    private final boolean copiesOut;
    private long area; // written when the operation is issued, as the next two
    private long firstMark;
    private long firstGate;

    /** @param copiesOut whether the receive buffer does not have what it will receive already */
    StagedBufferOperation(
            StagedIssuer issuer, long stream, CollectiveCall call, StagedPieces pieces, boolean copiesOut) {
        super(issuer, stream);
        this.call = new CollectiveCall(call.collective(), call.type(), call.op(), call.bytes(), null, null);
        this.pieces = pieces;
        this.count = pieces.count();
        this.copiesOut = copiesOut;
    }

    /**
     * Runs one piece.
     *
     * @param whole whether there is no other
     * @return as {@link #execute}
     */
    abstract long run(Piece piece, boolean whole, long timeoutNanos);

    /**
     * How many pieces the operation has on the rank with the most.
     *
     * @param own how many this rank has
     * @return the number, or a status below {@link NativeCommunicator#OK}
     */
    long agree(int own, long timeoutNanos) {
        return own;
    }

    @Override
    final void planSteps(StagingSteps steps) {
        area = issuer().area(issuer().areaBytes());
        firstMark = steps.nextMark();
        firstGate = steps.nextGate();
        for (int index = 0; index < count; index++) {
            if (index >= SLOTS) {
                planOut(index - SLOTS, steps);
            }
            pieces.copyIn(pieces.piece(index, slot(index)), steps);
            steps.mark();
        }
        for (int index = Math.max(0, count - SLOTS); index < count; index++) {
            planOut(index, steps);
        }
        steps.mark();
    }

    private void planOut(int index, StagingSteps steps) {
        steps.gate();
        if (copiesOut) {
            pieces.copyOut(pieces.piece(index, slot(index)), steps);
        }
    }

    final long area() {
        return area;
    }

    private long slot(int index) {
        return area + index % SLOTS * issuer().slotBytes();
    }

    @Override
    final long execute(long timeoutNanos) {
        long deadline = System.nanoTime() + timeoutNanos;
        long outcome = awaitStream(firstMark, true, deadline);
        if (outcome < NativeCommunicator.OK) {
            return outcome;
        }
        long all = agree(count, Deadlines.left(deadline));
        if (all < NativeCommunicator.OK) {
            return all;
        }
        for (int index = 0; index < all; index++) {
            outcome = index < count ? awaitStream(firstMark + index, true, deadline) : NativeCommunicator.OK;
            if (outcome < NativeCommunicator.OK) {
                return outcome;
            }
            outcome = run(pieces.piece(index, slot(index)), all == 1, Deadlines.left(deadline));
            if (outcome < NativeCommunicator.OK) {
                return outcome;
            }
            if (index < count) {
                issuer().open(firstGate + index);
            }
        }
        long end = awaitStream(firstMark + count, false, deadline);
        return end < NativeCommunicator.OK ? end : outcome;
    }

    @Override
    final void releaseBuffers() {
        pieces = null;
    }
}
