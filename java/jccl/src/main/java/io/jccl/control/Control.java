package io.jccl.control;

import io.jccl.wire.FrameType;
import io.jccl.wire.LastEntered;
import io.jccl.wire.Limits;
import io.jccl.wire.WireWriter;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One rank's side of the control network: answers the coordinator and keeps the agreed failure. Safe for any thread.
 */
public final class Control implements ControlNetwork {

    private static final Logger LOG = LoggerFactory.getLogger(Control.class);

    /**
     * This rank's connection to the coordinator. {@link Control} passes the agreed failure to this connection before it
     * calls the listener.
     */
    interface Output {

        void send(FrameType type, WireWriter content);

        boolean coordinatorIsSilent();

        void failed(FailureReport report);

        void breakDown(Throwable error);
    }

    private final int rank;
    private final Output output;
    private StatusSource source = StatusSource.NOTHING;
    private FailureListener listener;
    private FailureReport agreed;
    // true if an error of the JVM prevented the output or the listener from learning the agreed failure
    private boolean untold;
    private volatile long enteredByAllOnDevice;
    private boolean coordinatorLeft;
    private LastEntered coordinatorLastEntered = LastEntered.NOTHING;

    Control(int rank, Output output) {
        this.rank = rank;
        this.output = output;
    }

    @Override
    public void start(StatusSource statusSource, FailureListener failureListener) {
        FailureReport early;
        synchronized (this) {
            if (listener != null) {
                throw new IllegalStateException("rank=" + rank + ": the control network was started before");
            }
            source = statusSource;
            listener = failureListener;
            early = agreed;
        }
        if (early != null) {
            notifyListener(failureListener, early);
        }
    }

    @Override
    public void breakDown(Throwable error) {
        output.breakDown(error);
    }

    /** Makes threads stop waiting inside operations. Allocates nothing. */
    void stopOperations() {
        FailureListener stopped;
        synchronized (this) {
            stopped = listener;
        }
        if (stopped != null) {
            stopped.stopOperations();
        }
    }

    /** Tells the listener that this rank's control network has broken down. */
    void brokenDown(String text, Throwable error) {
        FailureListener notified;
        synchronized (this) {
            notified = listener;
        }
        if (notified != null) {
            notified.onBreakDown(text, error);
        }
    }

    @Override
    public void report(ReportKind kind, long sequence, String text) {
        report(kind, sequence, 0, text);
    }

    @Override
    public void timedOut(long sequence, Duration waited, String text) {
        report(ReportKind.TIMEOUT, sequence, waited.toMillis(), text);
    }

    private void report(ReportKind kind, long sequence, long waitedMillis, String text) {
        FailureReport own = null;
        synchronized (this) {
            if (agreed != null) {
                return;
            }
            if (coordinatorLeft) {
                own = withoutCoordinator(kind, sequence, text);
            }
        }
        if (own != null) {
            decide(own);
        } else {
            output.send(
                    FrameType.REPORT,
                    new WireWriter()
                            .u8(kind.ordinal())
                            .i64(sequence)
                            .i64(waitedMillis)
                            .text(text, Limits.MAX_TEXT / 2));
        }
    }

    /**
     * Returns the failure that follows from this rank's own report, because rank 0 has left and cannot ask the other
     * ranks; null if the report shows none.
     */
    private FailureReport withoutCoordinator(ReportKind kind, long sequence, String text) {
        long last = coordinatorLastEntered.of(sequence);
        if (sequence > last) {
            return FailureReport.gone(
                    FailureReport.Kind.DEPARTED,
                    Set.of(0),
                    sequence,
                    "rank 0 closed its communicator after sequence=" + LastEntered.plain(last) + " while rank " + rank
                            + " waits in sequence=" + LastEntered.text(sequence)
                            + "; close it only when every rank has finished");
        }
        FailureReport.Kind agreedKind =
                switch (kind) {
                    case STALLED -> null;
                    case TIMEOUT -> FailureReport.Kind.TIMEOUT;
                    case MISMATCH -> FailureReport.Kind.MISMATCH;
                    case TRANSPORT -> FailureReport.Kind.TRANSPORT;
                    case ABORT, GAVE_UP -> FailureReport.Kind.ABORTED;
                };
        if (agreedKind == null) {
            return null;
        }
        return new FailureReport(
                agreedKind,
                sequence,
                rank,
                new TreeSet<>(),
                new TreeSet<>(),
                List.of(status(sequence, true)),
                text + "; rank 0 has closed its communicator, so that other ranks could not be asked");
    }

    @Override
    public boolean coordinatorIsSilent() {
        return output.coordinatorIsSilent();
    }

    @Override
    public synchronized Optional<FailureReport> agreedFailure() {
        return Optional.ofNullable(agreed);
    }

    /** Answers a question of the coordinator. Called on the reactor's thread. */
    void query(long inquiry, long sequence, boolean withNetwork) {
        WireWriter out = new WireWriter().i64(inquiry);
        Codecs.write(out, status(sequence, withNetwork));
        output.send(FrameType.STATUS, out);
    }

    private RankStatus status(long sequence, boolean withNetwork) {
        StatusSource asked;
        synchronized (this) {
            asked = source;
        }
        try {
            RankStatus status = RankStatus.of(rank, asked, asked.waitingRows(), sequence);
            return withNetwork ? status.withNetwork(StalledConnections.brief()) : status;
        } catch (RuntimeException e) {
            LOG.warn("rank={}: the status source failed", rank, e);
            return new RankStatus(rank, RankStatus.State.ANSWERED, LastEntered.NOTHING, Optional.empty(), List.of());
        }
    }

    /** Returns true if this rank has entered no operation since a position. Allocates nothing. */
    boolean isAt(Position position) {
        StatusSource asked;
        synchronized (this) {
            asked = source;
        }
        return position.isOf(asked);
    }

    /** Returns this rank's progress. */
    public Position position() {
        StatusSource asked;
        synchronized (this) {
            asked = source;
        }
        try {
            return Position.of(asked);
        } catch (RuntimeException e) {
            LOG.warn("rank={}: the status source failed", rank, e);
            return Position.START;
        }
    }

    @Override
    public long enteredByAllOnDevice() {
        return enteredByAllOnDevice;
    }

    /** Notes what the coordinator's heartbeat says about {@link #enteredByAllOnDevice}. */
    void noteEnteredByAllOnDevice(long sequence) {
        enteredByAllOnDevice = sequence;
    }

    /** Notes that rank 0, which coordinates, has left in good order after these operations. */
    synchronized void left(LastEntered lastEntered) {
        coordinatorLeft = true;
        coordinatorLastEntered = lastEntered;
    }

    /** Reports the loss of the connection to the coordinator, unless the coordinator left in good order. */
    void coordinatorLost(String why) {
        synchronized (this) {
            if (coordinatorLeft) {
                return;
            }
        }
        decide(FailureReport.gone(
                FailureReport.Kind.PEER_FAILED, Set.of(0), 0, "rank 0, which coordinates, failed: " + why));
    }

    /**
     * Makes a failure the agreed one, unless there already is one, and tells the output and the listener. May be called
     * again after an error of the JVM.
     */
    void decide(FailureReport report) {
        FailureReport decided = report.failedRanks().contains(rank) ? leftOut(report) : report;
        FailureListener notified;
        synchronized (this) {
            if (agreed != null && !untold) {
                return;
            }
            untold = false;
            agreed = agreed == null ? decided : agreed;
            decided = agreed;
            notified = listener;
        }
        try {
            output.failed(decided);
            if (notified != null) {
                notifyListener(notified, decided);
            }
        } catch (Error e) {
            synchronized (this) {
                untold = true;
            }
            stopOperations();
            throw e;
        }
    }

    /** Returns the failure with a text for this rank, which the other ranks report as failed. */
    private FailureReport leftOut(FailureReport report) {
        String text = "the other ranks go on without this one, rank=" + rank + ": " + report.text()
                + "; end this process, or join a new communicator";
        return new FailureReport(
                report.kind(),
                report.sequence(),
                report.reporter(),
                report.failedRanks(),
                report.missingRanks(),
                report.rows(),
                text);
    }

    private void notifyListener(FailureListener notified, FailureReport decided) {
        try {
            notified.onFailure(decided);
        } catch (RuntimeException e) {
            LOG.warn("rank={}: the failure listener failed", rank, e);
        }
    }
}
