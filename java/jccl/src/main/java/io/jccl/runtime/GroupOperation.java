package io.jccl.runtime;

import io.jccl.nativelib.NativeCommunicator;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;

/** Operations that were issued as one, carried out one after the other. */
final class GroupOperation extends Operation {

    private static final VarHandle CURRENT;

    static {
        try {
            CURRENT = MethodHandles.lookup().findVarHandle(GroupOperation.class, "current", Operation.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final int size;
    private List<Operation> members;

    @SuppressWarnings("unused") // through CURRENT: the watch thread reads it, and no fence is spent on it
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
            CURRENT.setRelease(this, member);
            outcome = member.execute(Deadlines.left(deadline));
            if (outcome < NativeCommunicator.OK) {
                break;
            }
        }
        return outcome;
    }

    @Override
    String describe() {
        Operation at = (Operation) CURRENT.getAcquire(this);
        return at == null ? "group(operations=" + size + ")" : at.describe() + " in a group";
    }

    @Override
    void pin() {
        int pinned = 0;
        try {
            for (; pinned < size; pinned++) {
                members.get(pinned).pin();
            }
        } catch (IllegalStateException closed) {
            members = members.subList(0, pinned);
            release();
            throw closed;
        }
    }

    @Override
    void release() {
        members.forEach(Operation::release);
        members = List.of();
        CURRENT.setRelease(this, null);
    }
}
