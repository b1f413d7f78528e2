package io.jccl.control;

import java.time.Duration;
import java.util.Optional;

/**
 * The network on which the ranks of one communicator detect a failure and agree on its cause.
 *
 * <p>Every rank has a connection to the coordinator at rank 0. A rank has failed if its connection breaks or is silent
 * for the heartbeat time-out. If the coordinator is lost, rank 0 has failed. A rank that notices a problem
 * {@link #report reports} it. The coordinator then asks every rank what it knows about the operation, waits at most
 * about a second, and sends all ranks one {@link FailureReport}. Heartbeats and the FIN carry a rank's position and the
 * fingerprints of its operations; if these differ between ranks, the communicator fails too. A communicator has at most
 * one agreed failure: the first wins, on every rank.
 *
 * <p>Threads: all methods may be called by any thread and none of them waits.
 */
public interface ControlNetwork {

    /**
     * Sets the status source and the failure listener. Before this call, this rank answers "nothing entered". If there
     * already is an agreed failure, this call passes it to the listener. May be called once.
     *
     * @param source answers the coordinator's questions
     * @param listener is called with the agreed failure, once
     * @throws IllegalStateException if called before
     */
    void start(StatusSource source, FailureListener listener);

    /**
     * Reports a problem to the coordinator; returns at once. A report leads to an agreed failure, except a
     * {@link ReportKind#STALLED} one whose operation turns out healthy. A report may be repeated while the coordinator
     * still examines the problem.
     *
     * @param kind the kind of problem
     * @param sequence the operation's sequence number, 0 if none
     * @param text the description of the problem, which every rank's exception shows; cut at 1,000 characters
     */
    void report(ReportKind kind, long sequence, String text);

    /**
     * Reports a {@link ReportKind#TIMEOUT}; returns at once.
     *
     * @param sequence the operation's sequence number, 0 if none
     * @param waited the time that this rank has waited; zero if it is not known
     * @param text the description of the problem, as for {@link #report}
     */
    void timedOut(long sequence, Duration waited, String text);

    /**
     * Fails the communicator on all ranks, because of an error of the JVM that this rank cannot handle otherwise.
     * Allocates nothing and returns at once. The control network's thread calls the listener.
     */
    void breakDown(Throwable error);

    /**
     * Returns the sequence number of the last collective on a device that all ranks have entered, as the coordinator's
     * last heartbeat says; 0 before the first.
     */
    long enteredByAllOnDevice();

    /** Returns true if the coordinator has sent nothing for half the heartbeat time-out. */
    boolean coordinatorIsSilent();

    /** Returns the agreed failure; empty while there is none. */
    Optional<FailureReport> agreedFailure();
}
