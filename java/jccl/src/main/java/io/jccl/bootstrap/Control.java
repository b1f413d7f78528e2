package io.jccl.bootstrap;

import io.jccl.ChannelWait;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One rank's side of the control network: answers the coordinator, keeps the first verdict. Safe for use by any thread. */
final class Control implements ControlNetwork {

    private static final Logger LOG = LoggerFactory.getLogger(Control.class);

    /** How frames leave; where the verdict goes beside the listener. */
    interface Exit {

        void send(FrameType type, WireWriter content);

        void failed(FailureReport verdict);
    }

    private static final StatusSource NOTHING = new StatusSource() {
        @Override
        public LastEntered lastEntered() {
            return LastEntered.NOTHING;
        }

        @Override
        public Optional<OperationRecord> recordAt(long sequence) {
            return Optional.empty();
        }

        @Override
        public List<ChannelWait> waitingRows() {
            return List.of();
        }
    };

    private final int rank;
    private final Exit exit;
    private StatusSource source = NOTHING;
    private FailureListener listener;
    private FailureReport verdict;
    private boolean coordinatorLeft;
    private LastEntered coordinatorLastEntered = LastEntered.NOTHING;

    Control(int rank, Exit exit) {
        this.rank = rank;
        this.exit = exit;
    }

    @Override
    public void start(StatusSource statusSource, FailureListener verdictListener) {
        FailureReport early;
        synchronized (this) {
            if (listener != null) {
                throw new IllegalStateException("rank=" + rank + ": the control network was started before");
            }
            source = statusSource;
            listener = verdictListener;
            early = verdict;
        }
        if (early != null) {
            tell(verdictListener, early);
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
            if (verdict != null) {
                return;
            }
            if (coordinatorLeft) {
                own = withoutCoordinator(kind, sequence, text);
            }
        }
        if (own != null) {
            decide(own);
        } else {
            exit.send(
                    FrameType.REPORT,
                    new WireWriter()
                            .u8(kind.ordinal())
                            .i64(sequence)
                            .i64(waitedMillis)
                            .text(text, Codecs.MAX_TEXT / 2));
        }
    }

    /** Rank 0 has left in good order and there is nobody to ask: what this rank concludes alone, or null. */
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
        FailureReport.Kind kindOfVerdict =
                switch (kind) {
                    case STALLED -> null;
                    case TIMEOUT -> FailureReport.Kind.TIMEOUT;
                    case MISMATCH -> FailureReport.Kind.MISMATCH;
                    case TRANSPORT -> FailureReport.Kind.TRANSPORT;
                    case ABORT, GAVE_UP -> FailureReport.Kind.ABORTED;
                };
        if (kindOfVerdict == null) {
            return null;
        }
        return new FailureReport(
                kindOfVerdict,
                sequence,
                rank,
                new TreeSet<>(),
                new TreeSet<>(),
                List.of(status(sequence)),
                text + "; rank 0 has closed its communicator, so that other ranks could not be asked");
    }

    @Override
    public synchronized Optional<FailureReport> verdict() {
        return Optional.ofNullable(verdict);
    }

    /** The coordinator asks. On the reactor's thread. */
    void query(long inquiry, long sequence) {
        WireWriter out = new WireWriter().i64(inquiry);
        Codecs.write(out, status(sequence));
        exit.send(FrameType.STATUS, out);
    }

    private RankStatus status(long sequence) {
        StatusSource asked;
        synchronized (this) {
            asked = source;
        }
        try {
            return new RankStatus(
                    rank,
                    RankStatus.State.ANSWERED,
                    asked.lastEntered(),
                    asked.recordAt(sequence),
                    asked.waitingRows(),
                    Trail.of(asked, sequence));
        } catch (RuntimeException e) {
            LOG.warn("rank={}: the status source failed", rank, e);
            return new RankStatus(rank, RankStatus.State.ANSWERED, LastEntered.NOTHING, Optional.empty(), List.of());
        }
    }

    /** How far this rank has come now. */
    Position position() {
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

    synchronized void coordinatorLeft(LastEntered lastEntered) {
        coordinatorLeft = true;
        coordinatorLastEntered = lastEntered;
    }

    /** The connection to the coordinator is gone without our doing. */
    void coordinatorLost(String why) {
        synchronized (this) {
            if (coordinatorLeft) {
                return;
            }
        }
        decide(FailureReport.gone(FailureReport.Kind.PEER_FAILED, Set.of(0), 0, "rank 0, which coordinates, failed: " + why));
    }

    /** Takes a verdict, unless there is one. */
    void decide(FailureReport agreed) {
        FailureReport decided = agreed.failedRanks().contains(rank) ? leftOut(agreed) : agreed;
        FailureListener told;
        synchronized (this) {
            if (verdict != null) {
                return;
            }
            verdict = decided;
            told = listener;
        }
        exit.failed(decided);
        if (told != null) {
            tell(told, decided);
        }
    }

    /** The others count this rank as failed. */
    private FailureReport leftOut(FailureReport agreed) {
        String text = "the other ranks go on without this one, rank=" + rank + ": " + agreed.text()
                + "; end this process, or join a new communicator";
        return new FailureReport(
                agreed.kind(),
                agreed.sequence(),
                agreed.reporter(),
                agreed.failedRanks(),
                agreed.missingRanks(),
                agreed.rows(),
                text);
    }

    private void tell(FailureListener told, FailureReport decided) {
        try {
            told.onVerdict(decided);
        } catch (RuntimeException e) {
            LOG.warn("rank={}: the verdict listener failed", rank, e);
        }
    }
}
