package io.jccl.runtime;

import io.jccl.DeviceException;
import io.jccl.DeviceStream;
import io.jccl.init.StagedDevice;
import io.jccl.nativelib.NativeCommunicator;
import io.jccl.nativelib.NativeDeviceStaging;
import io.jccl.nativelib.NativeEngine;
import io.jccl.tuning.ChoiceTable;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the operations of a communicator on device memory where the host carries them out. They are put on their streams when
 * they are issued, and take their places in the queue beside those on memory of the host.
 */
final class StagedIssuer implements DeviceOperations {

    private static final Logger LOG = LoggerFactory.getLogger(StagedIssuer.class);
    private static final long END_NANOS = 1_000_000_000L; // from a failure, for all operations that it ends
    private static final long LOOK_NANOS = 2_000_000; // between two looks at whether the communicator has failed

    private final OperationQueue queue;
    private final StagedDevice device;
    private final ChoiceTable choices;
    private final FailureState failures;
    private final int rank;
    private final int size;
    private long nextMark = NativeDeviceStaging.FIRST; // touched by the thread that issues, as the next
    private long nextGate = NativeDeviceStaging.FIRST;
    private long endBy; // touched by the thread that has the right to run

    StagedIssuer(
            OperationQueue queue, StagedDevice device, ChoiceTable choices, FailureState failures, int rank, int size) {
        this.queue = queue;
        this.device = device;
        this.choices = choices;
        this.failures = failures;
        this.rank = rank;
        this.size = size;
    }

    OperationQueue queue() {
        return queue;
    }

    NativeEngine engine() {
        return queue.engine();
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
        return device.slotBytes();
    }

    /** The bytes of pinned memory that collectives need. */
    long areaBytes() {
        return device.areaBytes(size);
    }

    /** Where in such memory there is room for two numbers of each rank. */
    long notes(long area) {
        return area + StagedDevice.SLOTS * device.slotBytes();
    }

    /** The address of pinned memory with at least so many bytes; by the thread that issues. */
    long area(long bytes) {
        return device.staging().area(bytes);
    }

    /**
     * Puts an operation on its stream.
     *
     * @throws IllegalArgumentException if that is not possible; then nothing of it is there
     */
    void put(StagedOperation operation, long stream) {
        StagingSteps steps = new StagingSteps(nextMark, nextGate);
        operation.plan(steps);
        int there = device.staging().put(steps.rows(), steps.count(), stream);
        if (there == NativeCommunicator.INVALID) {
            throw new IllegalArgumentException(
                    operation.describe() + ": " + device.staging().lastError());
        }
        nextMark = steps.nextMark();
        nextGate = steps.nextGate();
        if (there < steps.count()) {
            failures.broken(
                    operation.describe(),
                    new DeviceException("steps=" + steps.count() + " put=" + Math.max(0, there) + ": "
                            + device.staging().lastError()));
        }
    }

    /**
     * Returns when the streams have come to a mark.
     *
     * @return {@link NativeCommunicator#OK}, or why they have not
     * @throws DeviceException if the device has failed
     */
    int await(long mark, long deadline) {
        while (!device.staging().await(mark, Math.min(LOOK_NANOS, Deadlines.left(deadline)))) {
            if (failures.current() != null) {
                return NativeCommunicator.ABORTED;
            }
            if (System.nanoTime() - deadline >= 0) {
                return NativeCommunicator.TIMEOUT;
            }
        }
        return NativeCommunicator.OK;
    }

    /** Lets the streams pass a gate and those before it. */
    void open(long gate) {
        device.staging().open(gate);
    }

    /**
     * Lets the streams pass an operation that is over, and, after a failure, waits a moment until they have: then nothing
     * touches its buffers any more.
     */
    void end(long gate, long mark) {
        open(gate);
        try {
            if (!device.staging().await(mark, 0)) {
                long now = System.nanoTime();
                endBy = endBy == 0 ? now + END_NANOS : endBy;
                device.staging().await(mark, Math.max(0, endBy - now));
            }
        } catch (DeviceException failed) {
            LOG.debug("rank={}: {}", rank, failed.getMessage()); // it copies nothing any more
        }
    }

    @Override
    public Operation collective(DeviceStream stream, CollectiveCall call, long count, int root) {
        return new StagedCollective(this, handle(stream), call, count, root);
    }

    @Override
    public Operation vector(DeviceStream stream, CollectiveCall call, long[] counts) {
        return new StagedVector(this, handle(stream), call, counts);
    }

    @Override
    public Operation pointToPoint(DeviceStream stream, List<PointToPointOperation.Transfer> transfers) {
        return new StagedPointToPoint(this, handle(stream), transfers);
    }

    @Override
    public Operation group(DeviceStream stream, List<Operation> members) {
        return new StagedGroup(
                this,
                handle(stream),
                members.stream().map(StagedOperation.class::cast).toList());
    }

    /** They are in the queue, which is drained by itself. */
    @Override
    public void drain() {}

    @Override
    public long stagingBytes() {
        return device.staging().areaBytes();
    }

    private long handle(DeviceStream stream) {
        return stream == null ? device.staging().ownStream() : stream.handle();
    }
}
