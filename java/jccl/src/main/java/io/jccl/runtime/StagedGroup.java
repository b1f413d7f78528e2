package io.jccl.runtime;

import io.jccl.nativelib.NativeCommunicator;
import java.util.List;

/** Staged operations that were issued as one, carried out one after the other. */
final class StagedGroup extends StagedOperation {

    private final int size;
    private volatile List<StagedOperation> members;
    private volatile StagedOperation current;

    StagedGroup(StagedIssuer issuer, long stream, List<StagedOperation> members) {
        super(issuer, stream);
        this.members = members;
        this.size = members.size();
    }

    @Override
    void planSteps(StagingSteps steps) {
        members.forEach(member -> member.plan(steps));
    }

    @Override
    long execute(long timeoutNanos) {
        long deadline = System.nanoTime() + timeoutNanos;
        long outcome = NativeCommunicator.OK;
        for (StagedOperation member : members) {
            current = member;
            outcome = member.execute(Deadlines.left(deadline));
            if (outcome < NativeCommunicator.OK) {
                break;
            }
        }
        return outcome;
    }

    @Override
    long sequenceOfFailure() {
        StagedOperation at = current;
        return at == null ? super.sequenceOfFailure() : at.sequenceOfFailure();
    }

    @Override
    String describeCall() {
        StagedOperation at = current;
        return at == null ? "group(operations=" + size + ")" : at.describe() + " in a group";
    }

    @Override
    void releaseBuffers() {
        members.forEach(StagedOperation::releaseBuffers);
        members = List.of();
        current = null;
    }
}
