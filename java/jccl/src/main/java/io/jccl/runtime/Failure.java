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

/** The failure of a communicator. Each caller gets an exception of its own, whose cause is the first exception. */
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

    /** Returns the failure of a communicator whose operation was interrupted on this rank. */
    static Failure byInterrupt(JcclException first) {
        return new Failure(first, true);
    }

    /** Returns the future to complete when the dump of this rank's last operations is written, or when none will be. */
    CompletableFuture<Void> dumped() {
        return dumped;
    }

    /**
     * Waits for the dump, for a limited time: a program that ends with the exception should not end before the dump.
     */
    private void awaitDump() {
        IdleStrategy.await(dumped::isDone, Deadlines.after(MAX_DUMP), MIN_SLEEP_NANOS, MAX_SLEEP_NANOS);
    }

    /** Returns the first exception, whether or not it was thrown. */
    JcclException first() {
        return first;
    }

    /** Returns true if a caller has received an exception of this failure. */
    boolean isThrown() {
        return thrown.get();
    }

    /**
     * Returns an exception to throw now, with the stack of this caller and the first exception as its cause. If an
     * interrupt caused the failure, a caller that is interrupted itself gets an
     * {@link InterruptedCommunicationException}.
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

    /** Returns the ranks that a failure names, in ascending order. */
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
