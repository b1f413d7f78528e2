package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.DeviceStream;
import io.jccl.init.FormedDevice;
import io.jccl.nativelib.DeviceEngine;
import java.util.List;

/** Makes the operations of one communicator on its device, and knows the one that was issued last. */
final class DeviceIssuer {

    private final OperationQueue queue;
    private final FormedDevice device;
    private final FailureState failures;
    private final long timeoutNanos;
    private DeviceOperation last; // touched by the thread that issues

    DeviceIssuer(OperationQueue queue, FormedDevice device, FailureState failures, long timeoutNanos) {
        this.queue = queue;
        this.device = device;
        this.failures = failures;
        this.timeoutNanos = timeoutNanos;
    }

    OperationQueue queue() {
        return queue;
    }

    DeviceEngine engine() {
        return device.engine();
    }

    FailureState failures() {
        return failures;
    }

    long timeoutNanos() {
        return timeoutNanos;
    }

    void issued(DeviceOperation operation) {
        last = operation;
    }

    /** Returns when everything that was issued is over; the caller has the right to issue. */
    void drain() {
        if (last != null) {
            last.carryOut(OperationQueue.NO_DEADLINE);
        }
    }

    /**
     * A collective with one count for all ranks.
     *
     * @param stream null: the communicator's own
     */
    Operation collective(DeviceStream stream, CollectiveCall call, long count, int root) {
        return new DeviceCollective(
                this,
                handle(stream),
                call.signature(),
                call.choose(device.choices()),
                call.send(),
                call.recv(),
                count,
                root);
    }

    /** A collective with counts per rank. */
    Operation vector(DeviceStream stream, CollectiveCall call, long[] counts) {
        return new DeviceVector(
                this,
                handle(stream),
                call.signature(),
                call.choose(device.choices()),
                call.send(),
                call.recv(),
                counts);
    }

    Operation pointToPoint(DeviceStream stream, List<PointToPointOperation.Transfer> transfers) {
        return new DevicePointToPoint(
                this, handle(stream), transfers, device.choices().choose(Collective.SEND_RECV, 0));
    }

    Operation group(DeviceStream stream, List<Operation> members) {
        return new DeviceGroup(this, handle(stream), members);
    }

    private long handle(DeviceStream stream) {
        return stream == null ? engine().ownStream() : stream.handle();
    }
}
