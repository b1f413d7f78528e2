package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.DeviceStream;
import io.jccl.init.ConnectedDevice;
import io.jccl.nativelib.DeviceEngine;
import java.util.List;

/** Makes the operations that kernels of a communicator's device carry out, and knows the one that was issued last. */
final class DeviceIssuer implements DeviceOperations {

    private final OperationQueue queue;
    private final ConnectedDevice device;
    private final FailureState failures;
    private final long timeoutNanos;
    private DeviceOperation last; // touched by the thread that issues

    DeviceIssuer(OperationQueue queue, ConnectedDevice device, FailureState failures, long timeoutNanos) {
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

    @Override
    public void drain() {
        if (last != null) {
            last.carryOut(OperationQueue.NO_DEADLINE);
        }
    }

    @Override
    public long stagingBytes() {
        return 0;
    }

    @Override
    public Operation collective(DeviceStream stream, CollectiveCall call, long count, int root) {
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

    @Override
    public Operation vector(DeviceStream stream, CollectiveCall call, long[] counts) {
        return new DeviceVector(
                this,
                handle(stream),
                call.signature(),
                call.choose(device.choices()),
                call.send(),
                call.recv(),
                counts);
    }

    @Override
    public Operation pointToPoint(DeviceStream stream, List<PointToPointOperation.Transfer> transfers) {
        return new DevicePointToPoint(
                this, handle(stream), transfers, device.choices().choose(Collective.SEND_RECV, 0));
    }

    @Override
    public Operation group(DeviceStream stream, List<Operation> members) {
        return new DeviceGroup(this, handle(stream), members);
    }

    private long handle(DeviceStream stream) {
        return stream == null ? engine().ownStream() : stream.handle();
    }
}
