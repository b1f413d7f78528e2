package io.jccl.status;

import io.jccl.membership.JoinAttempt;
import java.util.Map;
import java.util.Optional;

/**
 * The state of this process while it waits to join a job, as others can see it, until this object is closed. Safe for
 * use by any thread.
 */
public final class JoinStatus implements AutoCloseable {

    private final ProcessStatus owner;
    private final String members;
    private final long since = System.nanoTime();
    private volatile JoinAttempt last = new JoinAttempt(Optional.empty(), Map.of());

    JoinStatus(ProcessStatus owner, String members) {
        this.owner = owner;
        this.members = members;
    }

    /** Notes the outcome of another attempt. */
    public void asked(JoinAttempt attempt) {
        last = attempt;
    }

    JoinSnapshot snapshot() {
        JoinAttempt now = last;
        return new JoinSnapshot(
                now.jobKey().map(JobIdentity::name).orElse(""), members, System.nanoTime() - since, now.outcomes());
    }

    /** Removes the process from what others can see, because it has joined or gives up. A second call does nothing. */
    @Override
    public void close() {
        owner.end(this);
    }
}
