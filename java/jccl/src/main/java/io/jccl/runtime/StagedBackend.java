package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.DeviceException;
import io.jccl.DeviceStream;
import io.jccl.init.StagedDevice;
import io.jccl.nativelib.Code;
import io.jccl.nativelib.DeviceStaging;
import io.jccl.nativelib.NativeDevice;
import io.jccl.tuning.ChoiceTable;
import java.util.Iterator;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Executes operations on device memory on the host (host staging). When an operation is issued, its stream gets copies
 * to pinned memory, a signal, a wait for the host, and copies back. Then the operation waits in the queue like one on
 * host memory. The thread that executes it awaits the signal, runs the collective on the pinned memory, and ends the
 * stream's wait. The waits of the stream are ended in any case, also if the operation fails.
 */
final class StagedBackend implements Backend {

    private static final Logger LOG = LoggerFactory.getLogger(StagedBackend.class);
    private static final long END_NANOS = 1_000_000_000L; // after a failure, limit for streams to pass operations
    private static final long CHECK_NANOS = 2_000_000; // time between two checks for a failure of the communicator

    private final OperationQueue queue;
    private final int device; // the device's number in this process
    private final DeviceStaging staging;
    private final long slotBytes;
    private final long areaBytes;
    private final ChoiceTable choices;
    private final FailureState failures;
    private final int rank;
    private final int size;
    private long nextSignal = DeviceStaging.FIRST; // used by the thread that issues, like the next field
    private long nextWait = DeviceStaging.FIRST;
    private long endBy; // when END_NANOS have passed; 0 before a failure; used by the thread with the right to run

    /** A single call, not a group, that is executed through pinned memory. */
    interface StagedCall {

        /** Adds the steps that go on the stream; the last step is a signal. */
        void plan(StreamSteps steps);

        /** Executes the call; returns the same as {@link Backend#execute}. */
        long execute(StagedWork work, long timeoutNanos);
    }

    /** An operation that is on its stream. */
    static final class StagedWork extends OperationWork {

        private List<StagedCall> staged; // the calls of a group, or one call
        private long lastSignal; // written before the operation is published, like the next field
        private long lastWait;
        private volatile boolean awaitsStream;
        private boolean entersNext; // see awaitStream; used by the thread that executes the operation

        StagedWork(StagedBackend backend, OperationCall call, long deadline, List<StagedCall> staged) {
            super(backend, call, deadline);
            this.staged = staged;
        }
    }

    StagedBackend(
            OperationQueue queue, StagedDevice device, ChoiceTable choices, FailureState failures, int rank, int size) {
        this.queue = queue;
        this.device = device.ordinal();
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

    @Override
    public SymmetricAllocation.Memory allocate(long bytes) {
        long memory = NativeDevice.allocateMemory(device, bytes);
        NativeDevice.clearMemory(device, memory, bytes);
        return new SymmetricAllocation.Memory() {
            @Override
            public DataBuffer slice(long offsetBytes, long count, DataType type) {
                return DataBuffer.device(memory + offsetBytes, count, type);
            }

            @Override
            public void free() {
                NativeDevice.freeMemory(device, memory);
            }
        };
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

    /**
     * Returns the address of the slots in pinned memory. After the slots there is space for two {@code long} values for
     * each rank, with which ranks exchange their numbers of chunks. See {@link #area}.
     */
    long slots() {
        return area(areaBytes);
    }

    /** Returns the address of pinned memory of at least {@code bytes} bytes. Called by the thread that issues. */
    long area(long bytes) {
        return staging.area(bytes);
    }

    @Override
    public OperationWork issue(OperationCall call, DeviceStream stream, long deadline) {
        List<StagedCall> staged =
                call.members().stream().map(one -> one.staged(this)).toList();
        StagedWork work = new StagedWork(this, call, deadline, staged);
        call.pin();
        try {
            put(work, stream == null ? staging.ownStream() : stream.handle());
        } catch (RuntimeException | Error e) {
            call.release();
            throw e;
        }
        queue.enqueue(work);
        return work;
    }

    /**
     * Puts an operation on its stream.
     *
     * @throws IllegalArgumentException if that is impossible; then no step of the operation is on the stream
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
     * Waits until the stream has reached a signal of an operation.
     *
     * @param entersNext true if a collective on the host follows, which other ranks may have entered already
     * @return {@link Code#OK}, or the status that ended the wait
     * @throws DeviceException if the device has failed
     */
    int awaitStream(StagedWork work, long signal, boolean entersNext, long deadline) {
        work.awaitsStream = true;
        work.entersNext = entersNext;
        while (!staging.await(signal, Math.min(CHECK_NANOS, Deadlines.left(deadline)))) {
            if (failures.current() != null) {
                return Code.ABORTED; // awaitsStream stays true, for the message of the failure
            }
            if (System.nanoTime() - deadline >= 0) {
                return Code.TIMEOUT;
            }
        }
        work.awaitsStream = false;
        work.entersNext = false;
        return Code.OK;
    }

    /** Lets the streams pass a wait and all earlier ones. */
    void endWait(long wait) {
        staging.open(wait);
    }

    @Override
    public String describe(OperationWork work) {
        String state = ((StagedWork) work).awaitsStream ? " waiting for its stream to come to it" : "";
        return work.call().describe(state);
    }

    /**
     * Returns the number of the collective that this rank entered last. If this rank's stream has not reached the
     * collective to execute, returns the number that this collective would have got.
     */
    @Override
    public long failureSequence(OperationWork work) {
        return queue.engine().lastEntered() + (((StagedWork) work).entersNext ? 1 : 0);
    }

    /**
     * Lets the streams pass an operation that is over. After a failure, waits a moment until they have passed it, so
     * that they no longer use its buffers.
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
            LOG.debug("rank={}: {}", rank, failed.getMessage()); // a failed device copies nothing any more
        }
        work.call().release();
        work.staged = List.of();
    }

    @Override
    public long stagingBytes() {
        return staging.areaBytes();
    }
}
