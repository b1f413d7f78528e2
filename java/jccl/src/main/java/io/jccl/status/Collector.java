package io.jccl.status;

import io.jccl.membership.StatusPort;
import io.jccl.wire.Reactor;
import io.jccl.wire.WireException;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Asks all other processes of a job for their state, many at once, and combines the answers. Runs on the thread of the
 * status server, which never waits for a process.
 */
final class Collector {

    /** The time within which a process must answer. */
    static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** The time within which a process must answer if it writes a dump first. */
    static final long MAX_DUMP_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** The largest number of processes that are asked at once. Each takes a file descriptor. */
    private static final int MAX_AT_ONCE = 128;

    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    /** A process to ask, and the key that it accepts. */
    private record Target(PeerAddress process, byte[] key) {}

    private final Reactor reactor;
    private final Request request;
    private final long limitNanos;
    private final ProcessSnapshot own;
    private final List<CommunicatorStatus> communicators;
    private final Consumer<Answer> result;
    private final Deque<Target> targets = new ArrayDeque<>();
    private final List<StatusQuestion> running = new ArrayList<>();
    private final Map<String, StatusQuestion.Outcome> outcomes = new HashMap<>(); // key: process
    private Reactor.Ticker ticker;

    /**
     * Makes a collector. It asks no process before {@link #start}.
     *
     * @param own the state of this process
     * @param communicators the communicators whose ranks are asked
     * @param result receives the answer
     */
    Collector(
            Reactor reactor,
            Request request,
            ProcessSnapshot own,
            List<CommunicatorStatus> communicators,
            Consumer<Answer> result) {
        this.reactor = reactor;
        this.request = request.ofProcess();
        this.limitNanos = request.dumpFolder().isEmpty() ? MAX_NANOS : MAX_DUMP_NANOS;
        this.own = own;
        this.communicators = List.copyOf(communicators);
        this.result = result;
    }

    void start() {
        Map<String, Target> byProcess = new LinkedHashMap<>();
        for (CommunicatorStatus communicator : communicators) {
            for (PeerAddress peer : communicator.peers()) {
                if (!peer.process().equals(own.process()) && !peer.address().isEmpty()) {
                    byProcess.putIfAbsent(peer.process(), new Target(peer, communicator.memberKey()));
                }
            }
        }
        targets.addAll(byProcess.values());
        ticker = reactor.every(this::tick);
        tick(System.nanoTime());
    }

    private long tick(long now) {
        running.removeIf(question -> question.tick(now));
        while (running.size() < MAX_AT_ONCE && !targets.isEmpty()) {
            ask(targets.remove());
        }
        if (running.isEmpty() && targets.isEmpty() && ticker != null) {
            ticker.end();
            ticker = null;
            result.accept(answer());
        }
        return TICK_NANOS;
    }

    private void ask(Target target) {
        List<InetSocketAddress> addresses;
        try {
            addresses = StatusPort.decode(target.process().address());
        } catch (WireException e) {
            outcomes.put(
                    target.process().process(),
                    new StatusQuestion.Outcome(null, Absentee.Reason.REFUSED, e.getMessage()));
            return;
        }
        StatusQuestion question = new StatusQuestion(reactor, addresses, target.key(), request, limitNanos, outcome -> {
            outcomes.put(target.process().process(), outcome);
            reactor.tickSoon();
        });
        running.add(question);
        question.start();
    }

    private Answer answer() {
        List<ProcessSnapshot> processes = new ArrayList<>();
        processes.add(own);
        outcomes.values().stream()
                .filter(outcome -> outcome.answer() != null)
                .forEach(outcome -> processes.addAll(outcome.answer().processes()));
        Set<String> seen = new HashSet<>();
        for (ProcessSnapshot process : processes) {
            process.ranks().forEach(rank -> seen.add(rank.communicator() + " " + rank.rank()));
        }
        List<Absentee> absentees = new ArrayList<>();
        for (CommunicatorStatus communicator : communicators) {
            List<PeerAddress> peers = communicator.peers();
            for (int rank = 0; rank < peers.size(); rank++) {
                if (seen.add(communicator.id() + " " + rank)) {
                    absentees.add(absentee(communicator.id(), rank, peers.get(rank)));
                }
            }
        }
        return new Answer(processes, absentees);
    }

    private Absentee absentee(String communicator, int rank, PeerAddress peer) {
        StatusQuestion.Outcome outcome = outcomes.get(peer.process());
        if (outcome == null && !peer.process().equals(own.process())) {
            return new Absentee(communicator, rank, peer, Absentee.Reason.OFF, "its process has JCCL_STATUS=0");
        }
        if (outcome == null || outcome.answer() != null) {
            return new Absentee(communicator, rank, peer, Absentee.Reason.CLOSED, "it has closed its communicator");
        }
        boolean isStopped = outcome.reason() == Absentee.Reason.SILENT
                && peer.hostId().equals(own.hostId())
                && peer.sharesProcessIds(own.process())
                && ProcessState.of(peer.pid()) == ProcessState.STOPPED;
        return isStopped
                ? new Absentee(
                        communicator, rank, peer, Absentee.Reason.STOPPED, "pid=" + peer.pid() + " is in state T")
                : new Absentee(communicator, rank, peer, outcome.reason(), outcome.text());
    }
}
