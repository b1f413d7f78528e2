package io.jccl.bootstrap;

import java.time.Duration;
import java.util.Optional;

/**
 * How the ranks of one communicator notice that something is wrong and agree on what it is.
 *
 * <p>Every rank is joined to the coordinator at rank 0. A rank whose connection breaks, or that is silent for the heartbeat
 * time-out, has failed; if the coordinator is lost, rank 0 has failed. A rank that sees something odd {@link #report
 * reports} it; the coordinator asks every rank what it knows about the operation, waits about a second at most, and tells
 * all ranks one {@link FailureReport}. With its heartbeats and its goodbye a rank says how far it has come and what it has done so
 * far, and ranks that differ there, too, get a verdict. There is at most one verdict in the life of a communicator: the first wins, on every rank.
 *
 * <p>Threads: all methods may be called by any thread and none of them waits.
 */
public interface ControlNetwork {

    /**
     * Sets whom to ask and whom to tell. Before this call, questions are answered with "nothing entered", and a verdict is
     * kept and told on this call. May be called once.
     *
     * @param source answers the coordinator's questions
     * @param listener is told the verdict, once
     * @throws IllegalStateException if called before
     */
    void start(StatusSource source, FailureListener listener);

    /**
     * Reports something to the coordinator; returns at once. A report leads to a verdict, except a {@link ReportKind#STALLED}
     * one whose operation turns out healthy. Repeats of a report that is already looked into cost nothing.
     *
     * @param kind what was seen
     * @param sequence the operation's sequence number, 0 if none
     * @param text what was seen, in words that every rank's exception will show; cut at 2,000 characters
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

    /** The verdict, once there is one. */
    Optional<FailureReport> verdict();
}
