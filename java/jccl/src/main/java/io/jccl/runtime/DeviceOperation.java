package io.jccl.runtime;

import io.jccl.nativelib.NativeCommunicator;
import io.jccl.nativelib.NativeDeviceCommunicator;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * An operation on a device: it is put on a stream when it is issued, and over when the device says so. The deadline of its
 * waits is the device's, and counts from when it begins there.
 */
abstract class DeviceOperation extends Operation {

    private static final long END_NANOS = 2_000_000_000L; // from a failure until kernels that still wait are given up
    private static final int SPINS = 2_000;
    private static final long FIRST_NAP_NANOS = 20_000;
    private static final long LAST_NAP_NANOS = 1_000_000;

    private final DeviceIssuer device;
    private final long stream;
    private final AtomicBoolean looking = new AtomicBoolean();
    private volatile long number; // of the engine; 0: not put on the stream
    private long sequence; // among the collectives, or of the one before; published by number

    DeviceOperation(DeviceIssuer device, long stream) {
        super(device.queue());
        this.device = device;
        this.stream = stream;
    }

    final DeviceIssuer device() {
        return device;
    }

    final long stream() {
        return stream;
    }

    /** The choice that it was carried out with, packed. */
    abstract long executed();

    @Override
    final boolean isOnDevice() {
        return true;
    }

    @Override
    final void enter() {
        long outcome = execute(device.timeoutNanos());
        if (outcome == NativeCommunicator.INVALID) {
            throw new IllegalArgumentException(
                    describe() + ": " + device.engine().lastError());
        }
        if (outcome < NativeCommunicator.OK) {
            fail(failure((int) outcome, device.timeoutNanos()));
        } else {
            sequence = device.engine().lastEntered();
            number = outcome;
            device.issued(this);
        }
    }

    private Failure failure(int status, long timeoutNanos) {
        long failed = device.engine().failedSequence();
        return device.failures().endedOnDevice(status, describe(), failed == 0 ? sequence : failed, timeoutNanos);
    }

    @Override
    final void look() {
        if (query() < NativeCommunicator.OK) {
            queue().completeLater(this); // whose thread may wait for the other ranks' view of the failure
        }
    }

    @Override
    final void find() {
        int status = query();
        if (status < NativeCommunicator.OK) {
            Failure failure = failure(status, device.timeoutNanos());
            if (looking.compareAndSet(false, true)) {
                fail(failure);
            }
        }
    }

    /** What the device says; what has ended well is over from here on. */
    private int query() {
        if (isOver()) {
            return NativeDeviceCommunicator.DONE;
        }
        int status = device.engine().query(number);
        if (status == NativeDeviceCommunicator.DONE && looking.compareAndSet(false, true)) {
            end();
        }
        return status;
    }

    /** What is thrown when it has ended fails it. */
    private void end() {
        try {
            succeed(executed());
        } catch (Throwable e) {
            fail(device.failures().broken(describe(), e));
        }
    }

    /** It begins when it is put on its stream: an interrupt of the thread that waits fails the communicator. */
    @Override
    final void carryOut(long deadline) {
        for (int look = 0; look < SPINS && !isOver(); look++) {
            find();
            Thread.onSpinWait();
        }
        long endBy = 0;
        try (Backoff backoff = new Backoff(FIRST_NAP_NANOS, LAST_NAP_NANOS)) {
            while (!isOver()) {
                find();
                if (backoff.interrupted()) {
                    device.failures().interrupted(describe());
                }
                long now = System.nanoTime();
                if (endBy == 0 && deadline != OperationQueue.NO_DEADLINE && now - deadline >= 0) {
                    failure(NativeCommunicator.TIMEOUT, 0); // this thread's own deadline
                }
                Failure failure = device.failures().current();
                if (failure != null && endBy == 0) {
                    endBy = System.nanoTime() + END_NANOS;
                } else if (failure != null && now - endBy >= 0 && looking.compareAndSet(false, true)) {
                    fail(failure); // the device does not answer
                }
                backoff.sleep();
            }
        }
    }
}
