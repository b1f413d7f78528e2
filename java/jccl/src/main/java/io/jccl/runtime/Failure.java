package io.jccl.runtime;

import io.jccl.CommunicationTimeoutException;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.PeerFailedException;
import io.jccl.internal.Rethrown;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;

/** Why a communicator failed. Each caller gets an exception of its own, which the first one has caused. */
final class Failure {

    private static final Duration MAX_DUMP = Duration.ofSeconds(1);
    private static final long MIN_SLEEP_NANOS = 100_000;
    private static final long MAX_SLEEP_NANOS = 5_000_000;

    private final JcclException first;
    private final boolean byInterrupt;
    private final CompletableFuture<Void> dumped = new CompletableFuture<>();
    private final AtomicBoolean thrown = new AtomicBoolean();

    Failure(JcclException first) {
        this(first, false);
    }

    private Failure(JcclException first, boolean byInterrupt) {
        this.first = first;
        this.byInterrupt = byInterrupt;
    }

    /** The failure of a communicator whose operation was interrupted on this rank. */
    static Failure byInterrupt(JcclException first) {
        return new Failure(first, true);
    }

    /** To be completed when the dump of this rank's last operations is written, or none will be. */
    CompletableFuture<Void> dumped() {
        return dumped;
    }

    /** For a moment: a program that ends with the exception must not end before the dump is written. */
    private void awaitDump() {
        IdleStrategy.await(dumped::isDone, Deadlines.after(MAX_DUMP), MIN_SLEEP_NANOS, MAX_SLEEP_NANOS);
    }

    /** What went wrong, whether or not it was thrown. */
    JcclException first() {
        return first;
    }

    /** Whether a caller has got it. */
    boolean isThrown() {
        return thrown.get();
    }

    /**
     * An exception to throw now, with the stack of this caller and the first one as its cause. A caller that is interrupted
     * itself gets an {@link InterruptedCommunicationException} where an interrupt was the reason.
     */
    JcclException exception() {
        if (byInterrupt && Thread.currentThread().isInterrupted()) {
            return new InterruptedCommunicationException(first.getMessage(), first);
        }
        if (thrown.compareAndSet(false, true)) {
            awaitDump();
        }
        return Rethrown.here(first);
    }

    /** The ranks that a failure names. */
    static List<Integer> ranksOf(JcclException failure) {
        Set<Integer> ranks = Set.of();
        if (failure instanceof PeerFailedException e) {
            ranks = e.failedRanks();
        } else if (failure instanceof CommunicationTimeoutException e) {
            ranks = e.missingRanks();
        }
        return ranks.stream().sorted().toList();
    }
}
