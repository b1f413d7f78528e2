package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.DataBuffer;
import io.jccl.DeviceStream;
import io.jccl.init.ConnectedDevice;
import io.jccl.init.ConnectedDevice.Choices;
import io.jccl.nativelib.Code;
import io.jccl.nativelib.DeviceEngine;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Executes operations on device memory by kernels. Operations do not wait in the queue: they are put on a stream when
 * they are issued, and are over when the device reports it. {@link DeviceDeadline} keeps the communicator's time-out;
 * kernels keep the deadline of a single operation, which counts from the start of the operation there.
 */
final class KernelBackend implements Backend, CallHandler {

    private static final long END_NANOS = 2_000_000_000L; // limit for kernels to end after a failure
    private static final int SPINS = 2_000;
    private static final long MIN_SLEEP_NANOS = 20_000;
    private static final long MAX_SLEEP_NANOS = 1_000_000;

    private static final byte UNKNOWN = 0;
    private static final byte NO = 1;
    private static final byte YES = 2;

    private final OperationQueue queue;
    private final DeviceEngine engine;
    private final ConnectedDevice device;
    private final FailureState failures;
    private final long timeoutNanos;
    private final int size;
    /**
     * Results of {@link Choices#condition}, indexed by {@link Signatures#place}. A result depends only on the operation,
     * so all threads write the same value.
     */
    private final byte[] byAllAlgorithms = new byte[Signatures.PLACES];

    private Choices choices; // used by the thread that issues, like the next two fields
    private int registrations;
    private long stream; // stream of the operation that is being issued
    private KernelWork last;

    private static final class KernelWork extends OperationWork {

        private final long stream;
        private final long mayTake; // time-out in nanoseconds
        private final AtomicBoolean ending = new AtomicBoolean(); // set by the one thread that ends the operation
        private volatile long number; // the engine's number of the operation; 0 until it is on the stream
        // sequence number of this collective, or of the one before these sends and receives; published by number
        private long sequence;
        private long executed; // the packed choice that is used; published by number
        private OperationEvents.Begun events; // null if there are none; published by number

        KernelWork(KernelBackend backend, OperationCall call, long deadline, long stream) {
            super(backend, call, deadline);
            this.stream = stream;
            this.mayTake = deadline == Deadlines.NONE ? backend.timeoutNanos : Deadlines.left(deadline);
        }
    }

    KernelBackend(OperationQueue queue, ConnectedDevice device, FailureState failures, long timeoutNanos, int size) {
        this.queue = queue;
        this.device = device;
        this.engine = device.engine();
        this.choices = device.choices();
        this.failures = failures;
        this.timeoutNanos = timeoutNanos;
        this.size = size;
    }

    @Override
    public OperationQueue queue() {
        return queue;
    }

    @Override
    public OperationWork issue(OperationCall call, DeviceStream stream, long deadline) {
        call.pin();
        try {
            return put(call, stream, deadline);
        } catch (RuntimeException | Error e) {
            call.release();
            throw e;
        }
    }

    private OperationWork put(OperationCall call, DeviceStream stream, long deadline) {
        KernelWork work = new KernelWork(this, call, deadline, stream == null ? engine.ownStream() : stream.handle());
        if (queue.events().areMade()) {
            work.events = queue.events().begin(call, engine.lastEntered(), this);
        }
        long outcome = execute(work, deadline == Deadlines.NONE ? -work.mayTake : work.mayTake);
        if (outcome < Code.OK) {
            queue.events().endProfiled(work.events);
        }
        if (outcome == Code.INVALID) {
            throw new IllegalArgumentException(call.describe() + ": " + engine.lastError());
        }
        if (outcome < Code.OK) {
            work.fail(failure(work, (int) outcome, work.mayTake));
        } else {
            work.sequence = engine.issuedSequence();
            work.executed = engine.issuedChoice();
            work.number = outcome;
            last = work;
            if (engine.isCaptured() && work.ending.compareAndSet(false, true)) {
                end(work);
            }
        }
        return work;
    }

    @Override
    public long execute(OperationWork work, long timeout) {
        stream = ((KernelWork) work).stream;
        return work.call().dispatch(this, timeout);
    }

    @Override
    public long handle(CollectiveCall call, long timeout) {
        long choice = chosen(call.signature(), true, call.bytes(size));
        return engine.run(
                call.signature(),
                choice,
                address(call.send()),
                address(call.recv()),
                call.count(),
                call.root(),
                timeout,
                stream);
    }

    @Override
    public long handle(VectorCall call, long timeout) {
        long choice = chosen(call.signature(), false, call.bytes(size));
        return engine.runV(
                call.signature(),
                choice,
                address(call.send()),
                address(call.recv()),
                call.counts(),
                call.root(),
                timeout,
                stream);
    }

    @Override
    public long handle(TransfersCall call, long timeout) {
        long[] tasks = call.tasks(transfer -> transfer.buffer().address());
        return engine.runPointToPoint(
                choices.all().choose(Collective.SEND_RECV, call.largest()), tasks, timeout, stream);
    }

    /** Puts the members on the stream as one group. Returns the number of the last member, which ends after the others. */
    @Override
    public long handle(GroupCall call, long timeout) {
        return engine.runGroup(() -> launchAll(call.members(), timeout), timeout, stream);
    }

    /** Adds operations to the group that the engine collects; returns a code below {@link Code#OK} if it refuses one. */
    private long launchAll(List<OperationCall> members, long timeout) {
        long outcome = Code.OK;
        for (OperationCall member : members) {
            outcome = member.dispatch(this, timeout);
            if (outcome < Code.OK) {
                return outcome;
            }
        }
        return outcome;
    }

    private static long address(DataBuffer buffer) {
        return buffer == null ? 0 : buffer.address();
    }

    private long chosen(int signature, boolean sameCounts, long bytes) {
        Choices current = choices;
        boolean all = !current.areConditional() || sameCounts && allAlgorithmsExecute(current, signature);
        return (all ? current.all() : current.unconditional()).choose(Signatures.collective(signature), bytes);
    }

    private boolean allAlgorithmsExecute(Choices current, int signature) {
        int place = Signatures.place(signature);
        if (byAllAlgorithms[place] == UNKNOWN) {
            byAllAlgorithms[place] = current.condition().test(signature) ? YES : NO;
        }
        return byAllAlgorithms[place] == YES;
    }

    @Override
    public long choice(int signature, boolean sameCounts, long bytes) {
        return engine.adjustChoice(signature, chosen(signature, sameCounts, bytes));
    }

    ConnectedDevice device() {
        return device;
    }

    @Override
    public SymmetricAllocation.Memory allocate(long bytes) {
        return new DeviceWindow(device, engine.registration().allocateWindow(bytes, BufferRegistration.QUIET_NANOS));
    }

    /**
     * Counts the registered buffers. All ranks call this between the same operations.
     *
     * @param more 1 after a registration, -1 after its end
     */
    void countRegistered(int more) {
        registrations += more;
        choices = registrations == 0 ? device.choices() : device.onRegistered().orElseThrow();
    }

    @Override
    public void poll(OperationWork work) {
        if (query((KernelWork) work) < Code.OK) {
            // The communicator's thread waits for the agreed failure, because poll() must return at once.
            queue.completeLater(work);
        }
    }

    /** Lets the communicator's thread ask the device for the end of the operation. */
    @Override
    public void endUnawaited(OperationWork work) {
        queue.completeLater(work);
    }

    @Override
    public void refresh(OperationWork issued) {
        KernelWork work = (KernelWork) issued;
        int status = query(work);
        if (status < Code.OK) {
            Failure failure = failure(work, status, work.mayTake);
            if (work.ending.compareAndSet(false, true)) {
                report(work, false);
                work.fail(failure);
            }
        }
    }

    /** Asks the device for the state of an operation. If the operation has ended with success, marks it as over. */
    private int query(KernelWork work) {
        if (work.isOver()) {
            return DeviceEngine.DONE;
        }
        int status = engine.query(work.number);
        if (status == DeviceEngine.DONE && work.ending.compareAndSet(false, true)) {
            end(work);
        }
        return status;
    }

    private void report(KernelWork work, boolean succeeded) {
        if (work.events != null) {
            engine.noteEnd(work.number);
            queue.events().ended(work.events, work.sequence, succeeded, work);
        }
    }

    /** Ends an operation with success. An exception on the way fails the operation. */
    private void end(KernelWork work) {
        try {
            report(work, true);
            work.succeed(work.executed);
        } catch (Throwable e) {
            work.fail(failures.broken(work, e));
        }
    }

    private Failure failure(KernelWork work, int status, long timeout) {
        long failed = engine.failedSequence();
        return failures.endedOnDevice(status, describe(work), failed == 0 ? work.sequence : failed, timeout);
    }

    /**
     * An operation begins when it is put on its stream, so an interrupt of the waiting thread fails the communicator.
     */
    @Override
    public void await(OperationWork issued, long deadline) {
        KernelWork work = (KernelWork) issued;
        long endBy = 0;
        long end = Deadlines.earlier(deadline, work.deadline());
        try (IdleStrategy idle = new IdleStrategy(
                end, SPINS, MIN_SLEEP_NANOS, MAX_SLEEP_NANOS, () -> failures.interrupted(describe(work)))) {
            while (!work.isOver()) {
                refresh(work);
                idle.checkInterrupt();
                if (endBy == 0 && idle.isExpired()) {
                    failure(work, Code.TIMEOUT, 0); // this thread's own deadline has passed
                }
                Failure failure = failures.current();
                if (failure != null && endBy == 0) {
                    endBy = System.nanoTime() + END_NANOS;
                } else if (failure != null
                        && System.nanoTime() - endBy >= 0
                        && work.ending.compareAndSet(false, true)) {
                    work.fail(failure); // the device does not answer
                }
                idle.idle();
            }
        }
    }

    @Override
    public void drain() {
        if (last != null) {
            await(last, Deadlines.NONE);
        }
    }
}
