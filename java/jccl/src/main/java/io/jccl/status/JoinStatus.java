package io.jccl.status;

import io.jccl.bootstrap.JoinAttempt;
import java.util.Map;
import java.util.Optional;

/**
 * What this process lets others see while it waits to join a job, until this is closed. Safe for use by any thread.
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

    /** It has asked again. */
    public void asked(JoinAttempt attempt) {
        last = attempt;
    }

    JoinSnapshot snapshot() {
        JoinAttempt now = last;
        return new JoinSnapshot(
                now.jobKey().map(JobIdentity::name).orElse(""), members, System.nanoTime() - since, now.outcomes());
    }

    /** It has joined, or gives up. Called again it does nothing. */
    @Override
    public void close() {
        owner.end(this);
    }
}
