package io.jccl.runtime;

import io.jccl.DeviceException;
import io.jccl.DeviceStream;
import io.jccl.init.StagedDevice;
import io.jccl.nativelib.Code;
import io.jccl.nativelib.DeviceStaging;
import io.jccl.tuning.ChoiceTable;
import java.util.Iterator;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Executes operations on device memory on the host. When an operation is issued, its stream gets copies to pinned memory, a
 * signal behind them, a wait for the host, and copies back; then it waits in the queue as one on memory of the host does. The
 * thread that executes it awaits the signal, runs the collective on the pinned memory and ends the stream's wait. However it
 * ends, its stream's waits are ended.
 */
final class StagedBackend implements Backend {

    private static final Logger LOG = LoggerFactory.getLogger(StagedBackend.class);
    private static final long END_NANOS = 1_000_000_000L; // from a failure, for all operations that it ends
    private static final long CHECK_NANOS = 2_000_000; // between two checks whether the communicator has failed

    private final OperationQueue queue;
    private final DeviceStaging staging;
    private final long slotBytes;
    private final long areaBytes;
    private final ChoiceTable choices;
    private final FailureState failures;
    private final int rank;
    private final int size;
    private long nextSignal = DeviceStaging.FIRST; // touched by the thread that issues, as the next
    private long nextWait = DeviceStaging.FIRST;
    private long endBy; // touched by the thread that has the right to run

    /** A call that is no group, through pinned memory. */
    interface StagedCall {

        /** Adds what goes on the stream; the last is a signal. */
        void plan(StreamSteps steps);

        /** As {@link Backend#execute}. */
        long execute(StagedWork work, long timeoutNanos);
    }

    /** An operation that is on its stream. */
    static final class StagedWork extends OperationWork {

        private List<StagedCall> staged; // the members of a group, or one
        private long lastSignal; // written by the thread that issues, before others know of the operation, as the next
        private long lastWait;
        private volatile boolean awaitsStream;
        private boolean entersNext; // touched by the thread that executes it

        StagedWork(StagedBackend backend, OperationCall call, long deadline, List<StagedCall> staged) {
            super(backend, call, deadline);
            this.staged = staged;
        }
    }

    StagedBackend(
            OperationQueue queue, StagedDevice device, ChoiceTable choices, FailureState failures, int rank, int size) {
        this.queue = queue;
        this.staging = device.staging();
        this.slotBytes = device.slotBytes();
        this.areaBytes = device.areaBytes(size);
        this.choices = choices;
        this.failures = failures;
        this.rank = rank;
        this.size = size;
    }

    @Override
    public OperationQueue queue() {
        return queue;
    }

    @Override
    public long choice(int signature, boolean sameCounts, long bytes) {
        return choices.choose(Signatures.collective(signature), bytes);
    }

    ChoiceTable choices() {
        return choices;
    }

    int rank() {
        return rank;
    }

    int size() {
        return size;
    }

    long slotBytes() {
        return slotBytes;
    }

    /** The address of pinned memory for slots, and for two numbers of each rank behind them; by the thread that issues. */
    long slots() {
        return area(areaBytes);
    }

    /** The address of pinned memory with at least so many bytes; by the thread that issues. */
    long area(long bytes) {
        return staging.area(bytes);
    }

    @Override
    public OperationWork issue(OperationCall call, DeviceStream stream, long deadline) {
        List<StagedCall> staged =
                call.members().stream().map(one -> one.staged(this)).toList();
        StagedWork work = new StagedWork(this, call, deadline, staged);
        put(work, stream == null ? staging.ownStream() : stream.handle());
        queue.enqueue(work);
        return work;
    }

    /**
     * Puts an operation on its stream.
     *
     * @throws IllegalArgumentException if that is not possible; then nothing of it is there
     */
    private void put(StagedWork work, long stream) {
        StreamSteps steps = new StreamSteps(nextSignal, nextWait);
        work.staged.forEach(each -> each.plan(steps));
        int there = staging.put(steps.rows(), steps.count(), stream);
        if (there == Code.INVALID) {
            throw new IllegalArgumentException(describe(work) + ": " + staging.lastError());
        }
        nextSignal = steps.nextSignal();
        nextWait = steps.nextWait();
        work.lastSignal = nextSignal - 1;
        work.lastWait = nextWait - 1;
        if (there < steps.count()) {
            failures.broken(
                    work,
                    new DeviceException(
                            "steps=" + steps.count() + " put=" + Math.max(0, there) + ": " + staging.lastError()));
        }
    }

    @Override
    public long execute(OperationWork issued, long timeoutNanos) {
        StagedWork work = (StagedWork) issued;
        Iterator<StagedCall> staged = work.staged.iterator();
        return work.call()
                .executeEach(timeoutNanos, (call, left) -> staged.next().execute(work, left));
    }

    /**
     * Returns when the stream has come to a signal of an operation.
     *
     * @param entersNext whether a collective of the host follows, which the others may have entered
     * @return {@link Code#OK}, or why it has not
     * @throws DeviceException if the device has failed
     */
    int awaitStream(StagedWork work, long signal, boolean entersNext, long deadline) {
        work.awaitsStream = true;
        work.entersNext = entersNext;
        while (!staging.await(signal, Math.min(CHECK_NANOS, Deadlines.left(deadline)))) {
            if (failures.current() != null) {
                return Code.ABORTED; // a failure reports where the operation stood
            }
            if (System.nanoTime() - deadline >= 0) {
                return Code.TIMEOUT;
            }
        }
        work.awaitsStream = false;
        work.entersNext = false;
        return Code.OK;
    }

    /** Ends a wait of the streams, and those before it. */
    void endWait(long wait) {
        staging.open(wait);
    }

    @Override
    public String describe(OperationWork work) {
        String state = ((StagedWork) work).awaitsStream ? " waiting for its stream to come to it" : "";
        return work.call().describe(state);
    }

    /** Of a rank whose stream has not come to the operation: the number that it would have had. */
    @Override
    public long failureSequence(OperationWork work) {
        return queue.engine().lastEntered() + (((StagedWork) work).entersNext ? 1 : 0);
    }

    /**
     * Lets the streams pass an operation that is over, and, after a failure, waits a moment until they have: then nothing
     * touches its buffers any more.
     */
    @Override
    public void release(OperationWork issued) {
        StagedWork work = (StagedWork) issued;
        endWait(work.lastWait);
        try {
            if (!staging.await(work.lastSignal, 0)) {
                long now = System.nanoTime();
                endBy = endBy == 0 ? now + END_NANOS : endBy;
                staging.await(work.lastSignal, Math.max(0, endBy - now));
            }
        } catch (DeviceException failed) {
            LOG.debug("rank={}: {}", rank, failed.getMessage()); // it copies nothing any more
        }
        work.call().release();
        work.staged = List.of();
    }

    @Override
    public long stagingBytes() {
        return staging.areaBytes();
    }
}
