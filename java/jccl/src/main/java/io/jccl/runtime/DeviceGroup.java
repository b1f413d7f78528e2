package io.jccl.runtime;

import io.jccl.nativelib.NativeCommunicator;
import java.util.List;

/** Operations on a device that were issued as one: those that can share a launch do. */
final class DeviceGroup extends DeviceOperation {

    private final int size;
    private List<Operation> members;

    DeviceGroup(DeviceIssuer device, long stream, List<Operation> members) {
        super(device, stream);
        this.members = members;
        this.size = members.size();
    }

    /** The number of the last, which ends after the others. */
    @Override
    long execute(long timeoutNanos) {
        return device().engine().runGroup(() -> keepAll(timeoutNanos), timeoutNanos, stream());
    }

    private long keepAll(long timeoutNanos) {
        long outcome = NativeCommunicator.OK;
        for (Operation member : members) {
            outcome = member.execute(timeoutNanos);
            if (outcome < NativeCommunicator.OK) {
                return outcome;
            }
        }
        return outcome;
    }

    @Override
    long executed() {
        return ((DeviceOperation) members.get(size - 1)).executed();
    }

    @Override
    String describe() {
        return "group(operations=" + size + ")";
    }

    @Override
    void release() {
        members = List.of();
    }
}
