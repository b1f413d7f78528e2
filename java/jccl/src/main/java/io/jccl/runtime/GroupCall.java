package io.jccl.runtime;

import io.jccl.nativelib.Code;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;

/** Several calls that are issued as one. */
final class GroupCall implements OperationCall {

    private static final VarHandle CURRENT;

    static {
        try {
            CURRENT = MethodHandles.lookup().findVarHandle(GroupCall.class, "current", OperationCall.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final boolean onDevice;
    private final int size;
    private List<OperationCall> members;

    @SuppressWarnings("unused") // accessed through CURRENT without a full fence; the watchdog reads it, too
    private OperationCall current;

    GroupCall(boolean onDevice, List<OperationCall> members) {
        this.onDevice = onDevice;
        this.members = members;
        this.size = members.size();
    }

    @Override
    public List<OperationCall> members() {
        return members;
    }

    /** Executes the calls one after the other, until one fails; returns the outcome of the last. */
    @Override
    public long executeEach(long timeoutNanos, Member member) {
        long deadline = System.nanoTime() + timeoutNanos;
        long outcome = Code.OK;
        for (OperationCall call : members) {
            CURRENT.setRelease(this, call);
            outcome = member.execute(call, Deadlines.left(deadline));
            if (outcome < Code.OK) {
                break;
            }
        }
        return outcome;
    }

    @Override
    public long dispatch(CallHandler handler, long timeoutNanos) {
        return handler.handle(this, timeoutNanos);
    }

    @Override
    public boolean isOnDevice() {
        return onDevice;
    }

    @Override
    public String describe() {
        return describe("");
    }

    @Override
    public String describe(String state) {
        OperationCall at = (OperationCall) CURRENT.getAcquire(this);
        return at == null ? "group(operations=" + size + ")" : at.describe() + state + " in a group";
    }

    @Override
    public void pin() {
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
    public void release() {
        members.forEach(OperationCall::release);
        members = List.of();
        CURRENT.setRelease(this, null);
    }
}
