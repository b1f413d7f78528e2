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
 * One rank's part of a round. The rank initialises a communicator, runs operations, splits, shrinks and closes, and
 * checks every result. After a failure it continues without the failed ranks if it may. It reports a line for each
 * event that the judge needs.
 */
final class RankRound {

    /** The result of a rank's part. */
    enum End {
        /** All results were right. */
        RIGHT,
        /** A failure, and then right results with the remaining ranks. */
        WENT_ON,
        /** A failure, after which this rank must not or cannot continue. */
        REFUSED,
        /** The communicator was never initialised. */
        NO_COMMUNICATOR
    }

    /** Number of operations that together take longer than the longest delay of a fault. */
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
     * Creates the part of a rank.
     *
     * @param released reaches 0 when a rank that continues after a failure may close its communicator
     * @param report receives the reported lines
     */
    RankRound(Round round, int rank, int slowness, Arena arena, CountDownLatch released, Consumer<String> report) {
        this.round = round;
        this.rank = rank;
        this.slowness = slowness;
        this.arena = arena;
        this.released = released;
        this.report = report;
    }

    /** Runs the part to its end, even if communication fails. Other exceptions are thrown. */
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
            // Does not split into halves if the fault may fail its victim: the victim's half alone would see the
            // failure, and would have to report it to the other half.
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
            boolean mayLeaveOneOut = round.phase() != Phase.SHRINK; // the rank left out would fail differently
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

    /**
     * Leaves if this rank failed by itself. Otherwise continues without the ranks that the communicator's failure
     * names.
     */
    private End afterFailure(Communicator comm, Phase phase, JcclException failure, List<Integer> ranks)
            throws InterruptedException {
        Set<Integer> named = failed(phase, failure, ranks);
        boolean isOwn = !(failure instanceof AbortedException
                || failure instanceof CommunicationTimeoutException
                || failure instanceof PeerFailedException);
        if (named.isEmpty() && isOwn) {
            comm.abort(); // has no effect if the communicator has failed
            JcclException agreed = failureOf(comm);
            named = failed(phase, agreed, allRanks());
            if (named.isEmpty()) {
                report.accept("refused: this rank failed by itself");
                return End.REFUSED;
            }
        }
        return continueWithout(comm, named);
    }

    /** Reforms the communicator with all ranks and one process that joins. */
    private void reform(Communicator comm) throws InterruptedException {
        report.accept("members " + String.join(",", comm.memberAddresses()));
        enter(Phase.REFORM);
        try (Communicator more = comm.reform(allRanks(), 1)) {
            operate(more, FEW_CASES);
            more.barrier().await();
        }
    }

    /** Runs the part of the process that joins: it becomes one more rank or is not admitted. */
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

    /** Runs collectives, during each of which messages are in flight. */
    private void operate(Communicator comm, int cases) {
        int number = 0;
        for (CollectiveCase one : CollectiveCase.sample(round.seed(), comm.size(), cases, false)) {
            MessageInFlight message = MessageInFlight.start(comm, number++);
            one.check(comm, arena);
            message.finish();
        }
    }

    /** Reports that this rank has reached the phase in which the fault strikes; a late victim then waits. */
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
     * @param ranks the ranks of the failed communicator, by their numbers in the first communicator
     * @return the ranks that the failure names, by their numbers in the first communicator
     */
    private Set<Integer> failed(Phase phase, JcclException failure, List<Integer> ranks) {
        Set<Integer> named = new TreeSet<>();
        for (int one : namedBy(failure)) {
            if (one < ranks.size()) { // a larger number is that of the process that has joined
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

    private End continueWithout(Communicator first, Set<Integer> named) throws InterruptedException {
        Set<Integer> excluded = new TreeSet<>(named);
        Communicator last = first;
        List<Integer> members = allRanks(); // the ranks of communicator last, by their numbers in communicator first
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
                released.await(); // keeps the communicator, like a job that continues
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

    /** Shrinks a communicator; returns null if more ranks must be excluded first. */
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
