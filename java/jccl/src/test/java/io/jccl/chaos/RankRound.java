package io.jccl.chaos;

import io.jccl.AbortedException;
import io.jccl.BootstrapException;
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
            if (round.phase() == Phase.REFORM) {
                phase = Phase.REFORM;
                reform(comm);
            }
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
        boolean isOwn = !(failure instanceof AbortedException
                || failure instanceof CommunicationTimeoutException
                || failure instanceof PeerFailedException);
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

    /** All go on with one more. */
    private void reform(Communicator comm) throws InterruptedException {
        report.accept("members " + String.join(",", comm.memberAddresses()));
        enter(Phase.REFORM);
        try (Communicator more = comm.reform(allRanks(), 1)) {
            operate(more, FEW_CASES);
            more.barrier().await();
        }
    }

    /** What the process does that joins: it is one more rank, or is not taken in. */
    End join(UniqueId id, List<String> members) throws InterruptedException {
        enter(Phase.REFORM);
        try (Communicator more = Communicator.join(id, members, round.config(rank, slowness))) {
            operate(more, FEW_CASES);
            more.barrier().await();
            return End.RIGHT;
        } catch (JcclException e) {
            report.accept("failed " + Phase.REFORM + " " + e.getClass().getSimpleName() + " [] " + oneLine(e));
            return End.NO_COMMUNICATOR;
        }
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
            if (one < ranks.size()) { // or it is the process that has joined
                named.add(ranks.get(one));
            }
        }
        report.accept(
                "failed " + phase + " " + failure.getClass().getSimpleName() + " " + named + " " + oneLine(failure));
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

    private End goOn(Communicator first, Set<Integer> named) throws InterruptedException {
        Set<Integer> excluded = new TreeSet<>(named);
        Communicator last = first;
        List<Integer> members = allRanks(); // of the last one, by their numbers in the first
        try {
            for (int attempt = 0; attempt < MAX_ATTEMPTS && !excluded.contains(rank); attempt++) {
                Communicator rest = without(last, members, excluded);
                if (rest == null) {
                    continue;
                }
                last.close();
                last = rest;
                members =
                        members.stream().filter(one -> !excluded.contains(one)).toList();
                try {
                    operate(rest, FEW_CASES);
                } catch (JcclException e) {
                    excluded.addAll(failed(Phase.SHRINK, e, members));
                    continue;
                }
                report.accept("on " + rest.id() + " " + members);
                released.await(); // as a job that goes on
                return End.WENT_ON;
            }
            report.accept("refused: excluded " + excluded);
        } catch (BootstrapException e) {
            report.accept("refused without " + excluded + " " + oneLine(e));
        } catch (JcclException e) {
            report.accept("refused: this rank failed by itself: " + oneLine(e));
        } finally {
            last.close();
        }
        return End.REFUSED;
    }

    /** What is left of a communicator; null if more ranks are to be excluded. */
    private Communicator without(Communicator comm, List<Integer> members, Set<Integer> excluded) {
        List<Integer> numbers = excluded.stream()
                .map(members::indexOf)
                .filter(number -> number >= 0)
                .toList();
        try {
            Communicator rest = comm.shrink(numbers);
            report.accept("left " + rest.id() + " " + rest.size());
            return rest;
        } catch (PeerFailedException | CommunicationTimeoutException e) {
            report.accept("again " + e.getClass().getSimpleName() + " " + namedBy(e) + " without " + excluded + " "
                    + oneLine(e));
            namedBy(e).forEach(number -> excluded.add(members.get(number)));
            return null;
        }
    }

    private static String oneLine(JcclException e) {
        return e.getMessage().replace('\n', '|');
    }

    private List<Integer> allRanks() {
        return IntStream.range(0, round.size()).boxed().toList();
    }
}
