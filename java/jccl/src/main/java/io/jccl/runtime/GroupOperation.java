package io.jccl.runtime;

import io.jccl.nativelib.NativeCommunicator;
import java.util.List;

/** Operations that were issued as one, carried out one after the other. */
final class GroupOperation extends Operation {

    private final int size;
    private List<Operation> members;
    private Operation current;

    GroupOperation(OperationQueue queue, List<Operation> members) {
        super(queue);
        this.members = members;
        this.size = members.size();
    }

    @Override
    long execute(long timeoutNanos) {
        long deadline = System.nanoTime() + timeoutNanos;
        long outcome = NativeCommunicator.OK;
        for (Operation member : members) {
            current = member;
            outcome = member.execute(Deadlines.left(deadline));
            if (outcome < NativeCommunicator.OK) {
                break;
            }
        }
        return outcome;
    }

    @Override
    String describe() {
        Operation at = current;
        return at == null ? "group(operations=" + size + ")" : at.describe() + " in a group";
    }

    @Override
    void release() {
        members = List.of();
        current = null;
    }
}
