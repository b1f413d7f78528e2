package io.jccl.bootstrap;

import java.time.Duration;
import java.util.Optional;

/**
 * How the ranks of one communicator detect a failure and agree on its cause.
 *
 * <p>Every rank has a connection to the coordinator at rank 0. A rank whose connection breaks, or that is silent for
 * the heartbeat time-out, has failed; if the coordinator is lost, rank 0 has failed. A rank that notices a problem
 * {@link #report reports} it; the coordinator asks every rank what it knows about the operation, waits about a second
 * at most, and sends all ranks one {@link FailureReport}. Heartbeats and the FIN carry a rank's position and the
 * fingerprints of its operations; if these differ between ranks, the communicator fails too. A communicator has at most
 * one agreed failure: the first wins, on every rank.
 *
 * <p>Threads: all methods may be called by any thread and none of them waits.
 */
public interface ControlNetwork {

    /**
     * Sets the status source and the failure listener. Before this call, this rank answers "nothing entered"; an
     * earlier failure is passed to the listener by this call. May be called once.
     *
     * @param source answers the coordinator's questions
     * @param listener is called with the agreed failure, once
     * @throws IllegalStateException if called before
     */
    void start(StatusSource source, FailureListener listener);

    /**
     * Reports a problem to the coordinator; returns at once. A report leads to an agreed failure, except a {@link
     * ReportKind#STALLED} one whose operation turns out healthy. Repeats of a report that is in progress cost nothing.
     *
     * @param kind what was seen
     * @param sequence the operation's sequence number, 0 if none
     * @param text what was seen; every rank's exception shows it; cut at 2,000 characters
     */
    void report(ReportKind kind, long sequence, String text);

    /**
     * Reports a {@link ReportKind#TIMEOUT}; returns at once.
     *
     * @param sequence the operation's sequence number, 0 if none
     * @param waited how long was waited; zero if that is not known
     * @param text as above
     */
    void timedOut(long sequence, Duration waited, String text);

    /**
     * Fails the communicator on all ranks with an error of the JVM that this rank cannot handle otherwise. Allocates nothing and
     * returns at once; the listener is called on the control network's thread.
     */
    void breakDown(Throwable error);

    /** Whether nothing has come from the coordinator for half the heartbeat time-out. */
    boolean coordinatorIsSilent();

    /** The agreed failure, once there is one. */
    Optional<FailureReport> agreedFailure();
}
