package io.jccl.chaos;

import io.jccl.AbortedException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.Communicator;
import io.jccl.JcclException;
import io.jccl.PeerFailedException;
import io.jccl.UniqueId;
import io.jccl.integration.Arena;
import io.jccl.integration.CollectiveCase;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/**
 * One rank's part of a round: initialises, and then operates, splits, shrinks and closes, checking every result. After a
 * failure it goes on without the failed ranks, if it may. Reports a line for each thing that the judge looks at.
 */
final class RankRound {

    /** The end of a rank's part. */
    enum End {
        /** All results were right. */
        RIGHT,
        /** A failure, and then right results with the ranks that were left. */
        WENT_ON,
        /** A failure, after which this rank may not, or cannot, go on. */
        REFUSED,
        /** The communicator was never initialised. */
        NO_COMMUNICATOR
    }

    /** Operations of the phase that is struck take longer than the longest delay. */
    private static final int CASES = 60;

    private static final int FEW_CASES = 6;
    private static final int MAX_ATTEMPTS = 5;

    private final Round round;
    private final int rank;
    private final int slowness;
    private final Arena arena;
    private final CountDownLatch released;
    private final Consumer<String> report;

    /**
     * A rank.
     *
     * @param released until then a rank that goes on keeps what it goes on with
     * @param report takes lines
     */
    RankRound(Round round, int rank, int slowness, Arena arena, CountDownLatch released, Consumer<String> report) {
        this.round = round;
        this.rank = rank;
        this.slowness = slowness;
        this.arena = arena;
        this.released = released;
        this.report = report;
    }

    /** Runs to the end, whatever happens; throws what is no failure of communication. */
    End run(UniqueId id) throws InterruptedException {
        Communicator comm;
        try {
            enter(Phase.INIT);
            comm = Communicator.init(id, rank, round.size(), round.config(rank, slowness));
        } catch (JcclException e) {
            failed(Phase.INIT, e, allRanks());
            return End.NO_COMMUNICATOR;
        }
        try {
            return use(comm);
        } finally {
            comm.close();
        }
    }

    private End use(Communicator comm) throws InterruptedException {
        Phase phase = Phase.OPERATION;
        List<Integer> ranks = allRanks();
        try {
            enter(phase);
            operate(comm, CASES);
            phase = Phase.SPLIT;
            enter(phase);
            // A fault that only one part sees would have to be reported to the other.
            boolean halves = round.fault().effect() != Fault.Effect.MAY_FAIL && (round.seed() / 7 & 1) == 0;
            try (Communicator part = comm.split(halves ? rank % 2 : 0, rank).orElseThrow()) {
                ranks = halves
                        ? allRanks().stream().filter(one -> one % 2 == rank % 2).toList()
                        : ranks;
                operate(part, FEW_CASES);
            }
            ranks = allRanks();
            operate(comm, FEW_CASES);
            phase = Phase.SHRINK;
            enter(phase);
            boolean mayLeaveOneOut = round.phase() != Phase.SHRINK; // it would see another failure than the others
            int without = mayLeaveOneOut && (round.seed() / 11 & 1) == 0 ? round.size() - 1 : -1;
            if (rank != without) {
                ranks = allRanks().stream().filter(one -> one != without).toList();
                try (Communicator rest = comm.shrink(without < 0 ? List.of() : List.of(without))) {
                    operate(rest, FEW_CASES);
                }
            }
            ranks = allRanks();
            operate(comm, FEW_CASES);
            comm.barrier().await();
            enter(Phase.CLOSE);
            comm.close();
            return End.RIGHT;
        } catch (JcclException e) {
            return afterFailure(comm, phase, e, ranks);
        }
    }

    /** A rank that failed by itself leaves; the others learn whom the communicator names, and go on without these. */
    private End afterFailure(Communicator comm, Phase phase, JcclException failure, List<Integer> ranks)
            throws InterruptedException {
        Set<Integer> named = failed(phase, failure, ranks);
        boolean isOwn = !(failure instanceof AbortedException || failure instanceof CommunicationTimeoutException);
        if (named.isEmpty() && isOwn) {
            comm.abort(); // without effect if it has failed
            JcclException agreed = failureOf(comm);
            named = failed(phase, agreed, allRanks());
            if (named.isEmpty()) {
                report.accept("refused: this rank failed by itself");
                return End.REFUSED;
            }
        }
        return goOn(comm, named);
    }

    private void operate(Communicator comm, int cases) {
        for (CollectiveCase one : CollectiveCase.sample(round.seed(), comm.size(), cases, false)) {
            one.check(comm, arena);
        }
    }

    /** Says that this rank is at the phase that is struck; a late victim waits there. */
    private void enter(Phase phase) throws InterruptedException {
        if (phase == round.phase()) {
            report.accept("at " + phase);
            if (round.victims().contains(rank) && (round.fault() == Fault.SLOW || round.fault() == Fault.ABSENT)) {
                new CountDownLatch(1).await(round.amount(), TimeUnit.MILLISECONDS);
            }
        }
    }

    /**
     * Reports a failure.
     *
     * @param ranks those of the communicator that failed, by their numbers in the first one
     * @return the ranks that it names, by their numbers in the first communicator
     */
    private Set<Integer> failed(Phase phase, JcclException failure, List<Integer> ranks) {
        Set<Integer> named = new TreeSet<>();
        for (int one : namedBy(failure)) {
            named.add(ranks.get(one));
        }
        report.accept("failed " + phase + " " + failure.getClass().getSimpleName() + " " + named + " "
                + failure.getMessage().replace('\n', '|'));
        return named;
    }

    private static JcclException failureOf(Communicator comm) {
        try {
            comm.barrier().await();
            throw new AssertionError("an aborted communicator works");
        } catch (JcclException e) {
            return e;
        }
    }

    private static Set<Integer> namedBy(JcclException failure) {
        if (failure instanceof PeerFailedException failed) {
            return failed.failedRanks();
        }
        return failure instanceof CommunicationTimeoutException late ? late.missingRanks() : Set.of();
    }

    private End goOn(Communicator comm, Set<Integer> named) throws InterruptedException {
        Set<Integer> excluded = new TreeSet<>(named);
        for (int attempt = 0; attempt < MAX_ATTEMPTS && !excluded.contains(rank); attempt++) {
            List<Integer> ranks =
                    allRanks().stream().filter(one -> !excluded.contains(one)).toList();
            try (Communicator rest = comm.shrink(excluded)) {
                comm.close();
                report.accept("left " + rest.id() + " " + rest.size());
                operate(rest, FEW_CASES);
                report.accept("on " + rest.id() + " " + ranks);
                released.await(); // as a job that goes on
                return End.WENT_ON;
            } catch (PeerFailedException | CommunicationTimeoutException e) {
                report.accept("again " + e.getClass().getSimpleName() + " " + namedBy(e) + " without " + excluded + " "
                        + e.getMessage().replace('\n', '|'));
                excluded.addAll(namedBy(e));
            } catch (JcclException e) {
                report.accept(
                        "refused without " + excluded + " " + e.getMessage().replace('\n', '|'));
                return End.REFUSED;
            }
        }
        report.accept("refused: excluded " + excluded);
        return End.REFUSED;
    }

    private List<Integer> allRanks() {
        return IntStream.range(0, round.size()).boxed().toList();
    }
}
