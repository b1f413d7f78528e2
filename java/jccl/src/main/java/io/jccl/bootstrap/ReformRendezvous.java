package io.jccl.bootstrap;

import io.jccl.bootstrap.RankRegistration.Cause;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

/**
 * What a {@link RendezvousServer} does where a communicator is reformed. Every remaining rank runs such a server on its reserved port. The
 * ranks register at that of the lowest rank, the leader; the leader asks the ranks that have not come at theirs. So the
 * leader finds a rank that has ended although nobody else is connected to it, and ranks that exclude different ones,
 * which have different leaders. For one thread, that of the server.
 *
 * <p>A rank may be an attempt ahead of the leader, or behind: the server sends it the result of its attempt, or it
 * waits.
 */
final class ReformRendezvous {

    static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    /**
     * How long ranks with other exclusions may take to reach another attempt: longer than the ends of an attempt may lie apart,
     * as a server that accepts and does not answer is waited for a second longer.
     */
    private static final long DIFFERENT_NANOS = TimeUnit.MILLISECONDS.toNanos(2500);

    /** Living ranks come by themselves; only then are they asked. */
    private static final long PROBE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** Ranks that end together are one failure. */
    private static final long GATHER_LOST_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private record Waiting(FrameLink link, RankRegistration.Hello hello, long since) {}

    private final RemainingRanks remaining;
    private final Admission admission;
    private final Map<String, RankRegistration> earlier; // attempts that failed, by key
    private final List<Waiting> waiting = new ArrayList<>();
    private final Map<Integer, ReformProbe> probes = new HashMap<>(); // by old rank
    private final SortedSet<Integer> lost = new TreeSet<>(); // old ranks
    private boolean completed;
    private String different; // which ranks exclude different ones; null: none are known
    private RankRegistration registration;
    private Reactor reactor;
    private byte[] secret;
    private long beginNanos;
    private long lostNanos; // when the first was found
    private long nowNanos; // at the last tick

    /** @param earlier the attempts of this communicator that failed, by key; this one is added */
    ReformRendezvous(RemainingRanks remaining, Map<String, RankRegistration> earlier) {
        this.remaining = remaining;
        this.earlier = earlier;
        this.admission = new Admission(remaining);
    }

    int size() {
        return remaining.newSize();
    }

    /** What the server does with processes that join. */
    Admission admission() {
        return admission;
    }

    /** The old ranks, and the number of processes, that the ranks wait for. */
    AwaitedRanks.Waiting awaited() {
        if (!remaining.leads()) {
            return AwaitedRanks.Waiting.NOTHING;
        }
        SortedSet<Integer> missing = new TreeSet<>();
        registration
                .missingRanks(remaining.newSize())
                .forEach(rank -> missing.add(remaining.left().get(rank)));
        return new AwaitedRanks.Waiting(
                remaining.group(),
                "the others reform the communicator",
                remaining.oldSize(),
                missing,
                admission.awaited() - admission.present());
    }

    void begin(RankRegistration ofServer, Reactor serverReactor, byte[] serverSecret, long now) {
        registration = ofServer;
        reactor = serverReactor;
        secret = serverSecret;
        beginNanos = now;
        earlier.put(remaining.key(), ofServer);
    }

    /** The group is initialised; for a while, ranks that it leaves out, and that wait for ranks of it, are refused. */
    void complete() {
        completed = true;
        admission.close("the ranks have gone on without it");
        earlier.remove(remaining.key());
    }

    /** Whether the server registers a rank; otherwise it has been answered, or waits. */
    boolean admits(FrameLink link, RankRegistration.Hello hello, long now) {
        boolean same = hello.key().equals(remaining.key());
        RankRegistration past = same ? registration : earlier.get(hello.key());
        if (past != null && past.failed() && !past.hasNotified(hello.rank())) {
            past.join(link, hello);
            return false;
        }
        if (same && !completed && !registration.failed()) {
            if (!remaining.leads()) {
                link.close(); // the leader, to which this rank connects
            }
            return remaining.leads();
        }
        waiting.add(new Waiting(link, hello, now)); // for the next attempt, which closes the connection
        return false;
    }

    void tick(long now) {
        nowNanos = now;
        waiting.removeIf(this::isPartOfTheDifference);
        admission.tick();
        if (registration.failed()) {
            admission.close("the ranks that reform the communicator start again, or give up");
            return;
        }
        for (Iterator<Waiting> each = waiting.iterator(); each.hasNext(); ) {
            Waiting one = each.next();
            boolean same = one.hello().key().equals(remaining.key()); // it has started again, this rank has not
            // It comes for a group after the one that is initialised, for which this rank may be late.
            boolean isNext =
                    completed && (remaining.left().contains(one.hello().oldRank()) || remaining.isBehind(one.hello()));
            if (!same && !isNext && now - one.since() >= DIFFERENT_NANOS) {
                each.remove();
                different(one);
            }
        }
        if (remaining.leads() && !completed && now - beginNanos >= PROBE_NANOS) {
            probe(now);
        }
        if (!lost.isEmpty() && now - lostNanos >= GATHER_LOST_NANOS) {
            reportLost();
        }
    }

    /** One rank's difference refuses all whose exclusions it names; others may have started again. */
    private boolean isPartOfTheDifference(Waiting one) {
        boolean named = different != null
                && !one.hello().key().equals(remaining.key())
                && different.contains("excludes " + one.hello().key());
        if (named) {
            RankRegistration.refuse(one.link(), different);
        }
        return named;
    }

    private void fail(String difference) {
        different = difference;
        registration.fail(Cause.REFUSED, List.of(), difference);
    }

    private void different(Waiting other) {
        String text = "the ranks that are left exclude different ones:\n  rank "
                + remaining.rank() + " excludes "
                + remaining.key() + "\n  rank " + other.hello().oldRank() + " excludes "
                + other.hello().key();
        RankRegistration.refuse(other.link(), text);
        if (!completed) {
            fail(text);
        }
    }

    private void probe(long now) {
        SortedSet<Integer> missing = new TreeSet<>();
        registration
                .missingRanks(size())
                .forEach(rank -> missing.add(remaining.left().get(rank)));
        missing.remove(remaining.rank());
        probes.entrySet().removeIf(probe -> {
            boolean came = !missing.contains(probe.getKey());
            if (came) {
                probe.getValue().close();
            }
            return came;
        });
        for (int rank : missing) {
            probes.computeIfAbsent(rank, this::newProbe).tick(now);
        }
    }

    private ReformProbe newProbe(int rank) {
        RankRegistration.Hello hello = remaining.hello();
        return new ReformProbe(
                reactor, remaining.addresses(rank), secret, remaining.generation(), hello, new ReformProbe.Result() {
                    @Override
                    public void ended() {
                        lose(rank);
                    }

                    @Override
                    public void refused(String text) {
                        fail(text);
                    }

                    @Override
                    public void failed(Cause cause, String text) {
                        registration.fail(cause, List.of(remaining.left().indexOf(rank)), text);
                    }
                });
    }

    private void lose(int rank) {
        if (lost.isEmpty()) {
            lostNanos = nowNanos;
        }
        lost.add(rank);
    }

    private void reportLost() {
        List<Integer> ranks = lost.stream().map(remaining.left()::indexOf).toList();
        registration.fail(
                Cause.LOST,
                ranks,
                "ranks " + RankList.text(ranks)
                        + " have ended or closed their communicator: nobody listens on their ports any more");
    }
}
