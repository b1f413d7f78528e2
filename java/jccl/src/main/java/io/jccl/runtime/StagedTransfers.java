package io.jccl.runtime;

import io.jccl.nativelib.Code;
import io.jccl.runtime.StagedBackend.StagedWork;
import io.jccl.runtime.TransfersCall.Transfer;
import java.util.Arrays;
import java.util.List;
import java.util.PrimitiveIterator;

/**
 * Sends and receives of device memory that the host executes at the same time. They are staged whole, because none may
 * hold up another: chunks that travel together would wait for each other.
 */
final class StagedTransfers implements StagedBackend.StagedCall {

    private static final long ALIGNMENT = 64;

    private final StagedBackend backend;
    private final TransfersCall call;
    private final long[] places; // addresses in pinned memory; written at issue, like the next two fields
    private long firstSignal;
    private long firstWait;

    StagedTransfers(StagedBackend backend, TransfersCall call) {
        this.backend = backend;
        this.call = call;
        this.places = new long[call.transfers().size()];
    }

    @Override
    public void plan(StreamSteps steps) {
        List<Transfer> transfers = call.transfers();
        long bytes = 0;
        for (int i = 0; i < places.length; i++) {
            places[i] = bytes;
            bytes += (transfers.get(i).buffer().bytes() + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        }
        long area = backend.area(bytes);
        for (int i = 0; i < places.length; i++) {
            places[i] += area;
        }
        firstSignal = steps.nextSignal();
        firstWait = steps.nextWait();
        copies(false, steps);
        steps.signal();
        steps.waitForHost();
        copies(true, steps);
        steps.signal();
    }

    private void copies(boolean receiving, StreamSteps steps) {
        for (int i = 0; i < places.length; i++) {
            Transfer transfer = call.transfers().get(i);
            if (transfer.receiving() == receiving) {
                long there = transfer.buffer().address();
                long to = receiving ? there : places[i];
                steps.copy(to, receiving ? places[i] : there, transfer.buffer().bytes());
            }
        }
    }

    @Override
    public long execute(StagedWork work, long timeoutNanos) {
        long deadline = System.nanoTime() + timeoutNanos;
        long status = backend.awaitStream(work, firstSignal, false, deadline);
        if (status < Code.OK) {
            return status;
        }
        PrimitiveIterator.OfLong place = Arrays.stream(places).iterator();
        long[] tasks = call.tasks(transfer -> place.nextLong());
        long outcome = backend.queue().engine().runPointToPoint(tasks, Deadlines.left(deadline));
        if (outcome < Code.OK) {
            return outcome;
        }
        backend.endWait(firstWait);
        status = backend.awaitStream(work, firstSignal + 1, false, deadline);
        return status < Code.OK ? status : outcome;
    }
}
