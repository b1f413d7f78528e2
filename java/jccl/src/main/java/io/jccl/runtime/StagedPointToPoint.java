package io.jccl.runtime;

import io.jccl.nativelib.NativeCommunicator;
import java.util.Arrays;
import java.util.List;
import java.util.PrimitiveIterator;

/**
 * Sends and receives of device memory that the host carries out at the same time. They are staged whole: none may hold up
 * another, and of pieces that are on their way together one would wait for the others.
 */
final class StagedPointToPoint extends StagedOperation {

    private static final long ALIGNMENT = 64;

    private final int transferCount;
    private List<PointToPointOperation.Transfer> transfers;
    private final long[] places; // of the transfers in pinned memory; written when it is issued, as the next two
    private long firstMark;
    private long firstGate;

    StagedPointToPoint(StagedIssuer issuer, long stream, List<PointToPointOperation.Transfer> transfers) {
        super(issuer, stream);
        this.transfers = List.copyOf(transfers);
        this.transferCount = transfers.size();
        this.places = new long[transferCount];
    }

    @Override
    void planSteps(StagingSteps steps) {
        long room = 0;
        for (int i = 0; i < transferCount; i++) {
            places[i] = room;
            room += (transfers.get(i).buffer().bytes() + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        }
        long area = issuer().area(room);
        for (int i = 0; i < transferCount; i++) {
            places[i] += area;
        }
        firstMark = steps.nextMark();
        firstGate = steps.nextGate();
        copies(false, steps);
        steps.mark();
        steps.gate();
        copies(true, steps);
        steps.mark();
    }

    private void copies(boolean receiving, StagingSteps steps) {
        for (int i = 0; i < transferCount; i++) {
            PointToPointOperation.Transfer transfer = transfers.get(i);
            if (transfer.receiving() == receiving) {
                long there = transfer.buffer().address();
                long to = receiving ? there : places[i];
                steps.copy(to, receiving ? places[i] : there, transfer.buffer().bytes());
            }
        }
    }

    @Override
    long execute(long timeoutNanos) {
        long deadline = System.nanoTime() + timeoutNanos;
        long status = awaitStream(firstMark, false, deadline);
        if (status < NativeCommunicator.OK) {
            return status;
        }
        PrimitiveIterator.OfLong place = Arrays.stream(places).iterator();
        long[] tasks = PointToPointOperation.tasks(transfers, transfer -> place.nextLong());
        long outcome = issuer().engine().runPointToPoint(tasks, Deadlines.left(deadline));
        if (outcome < NativeCommunicator.OK) {
            return outcome;
        }
        issuer().open(firstGate);
        status = awaitStream(firstMark + 1, false, deadline);
        return status < NativeCommunicator.OK ? status : outcome;
    }

    @Override
    String describeCall() {
        return PointToPointOperation.describe(transfers, transferCount);
    }

    @Override
    void releaseBuffers() {
        transfers = List.of();
    }
}
