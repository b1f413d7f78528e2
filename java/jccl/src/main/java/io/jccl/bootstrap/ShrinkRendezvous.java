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
 * What a {@link RendezvousServer} does beside where a communicator is shrunk. Every rank that is left runs such a root on its reserved
 * port. The group meets at the one of the lowest rank, the leader; the leader asks the ranks that have not come at theirs. So
 * a rank that has ended is found although nobody else is connected to it, and so are ranks that exclude different ones, which
 * have different leaders. For one thread, that of the root.
 *
 * <p>A rank may be ahead of the leader by an attempt, or behind: it is told how the attempt ended that it comes for, or waits.
 */
final class ShrinkRendezvous {

    static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    /** How long ranks with other exclusions may be on their way to another attempt. */
    private static final long DIFFERENT_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Living ranks come by themselves; only then are they asked. */
    private static final long PROBE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** Ranks that end together are told together. */
    private static final long GATHER_LOST_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private record Waiting(FrameLink link, RankRegistration.Hello hello, long since) {}

    private final RemainingRanks remaining;
    private final Map<String, RankRegistration> earlier; // attempts that failed, by key
    private final List<Waiting> waiting = new ArrayList<>();
    private final Map<Integer, ShrinkProbe> probes = new HashMap<>(); // by old rank
    private final SortedSet<Integer> lost = new TreeSet<>(); // old ranks
    private boolean formed;
    private String different; // which ranks exclude different ones; null: none are known
    private RankRegistration assembly;
    private Reactor reactor;
    private byte[] secret;
    private long beginNanos;
    private long lostNanos; // when the first was found
    private long nowNanos; // at the last tick

    /** @param earlier the attempts of this communicator that failed, by key; this one is added */
    ShrinkRendezvous(RemainingRanks remaining, Map<String, RankRegistration> earlier) {
        this.remaining = remaining;
        this.earlier = earlier;
    }

    int size() {
        return remaining.left().size();
    }

    void begin(RankRegistration ofRendezvous, Reactor ofServer, byte[] ofMeeting, long now) {
        assembly = ofRendezvous;
        reactor = ofServer;
        secret = ofMeeting;
        beginNanos = now;
        earlier.put(remaining.key(), ofRendezvous);
    }

    /** The group has formed; ranks that exclude others, and wait for ranks of it, are told so for a while. */
    void formed() {
        formed = true;
        earlier.remove(remaining.key());
    }

    /** Whether the root shall let a rank in; else it has been answered, or waits. */
    boolean admits(FrameLink link, RankRegistration.Hello hello, long now) {
        boolean same = hello.key().equals(remaining.key());
        RankRegistration past = same ? assembly : earlier.get(hello.key());
        if (past != null && past.failed() && !past.hasTold(hello.rank())) {
            past.join(link, hello);
            return false;
        }
        if (same && !formed && !assembly.failed()) {
            if (!remaining.leads()) {
                link.close(); // the leader, to which this rank is on its way
            }
            return remaining.leads();
        }
        waiting.add(new Waiting(link, hello, now)); // for the next attempt, which closes the connection
        return false;
    }

    void tick(long now) {
        nowNanos = now;
        waiting.removeIf(this::isPartOfTheDifference);
        if (assembly.failed()) {
            return;
        }
        for (Iterator<Waiting> each = waiting.iterator(); each.hasNext(); ) {
            Waiting one = each.next();
            boolean same = one.hello().key().equals(remaining.key()); // it has begun anew, this rank has not
            if (!same && now - one.since() >= DIFFERENT_NANOS) {
                each.remove();
                different(one);
            }
        }
        if (remaining.leads() && !formed && now - beginNanos >= PROBE_NANOS) {
            probe(now);
        }
        if (!lost.isEmpty() && now - lostNanos >= GATHER_LOST_NANOS) {
            tellLost();
        }
    }

    /** One rank's difference is told to all whose exclusions it names; others may have begun anew. */
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
        assembly.fail(Cause.REFUSED, List.of(), difference);
    }

    private void different(Waiting other) {
        String text = "the ranks that are left exclude different ones:\n  rank " + remaining.rank() + " excludes "
                + remaining.key() + "\n  rank " + other.hello().oldRank() + " excludes "
                + other.hello().key();
        RankRegistration.refuse(other.link(), text);
        if (!formed) {
            fail(text);
        }
    }

    private void probe(long now) {
        SortedSet<Integer> missing = new TreeSet<>();
        assembly.missing(size()).forEach(rank -> missing.add(remaining.left().get(rank)));
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

    private ShrinkProbe newProbe(int rank) {
        RankRegistration.Hello hello = remaining.hello(new byte[0]);
        return new ShrinkProbe(reactor, remaining.addresses(rank), secret, hello, new ShrinkProbe.Result() {
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
                assembly.fail(cause, List.of(remaining.left().indexOf(rank)), text);
            }
        });
    }

    private void lose(int rank) {
        if (lost.isEmpty()) {
            lostNanos = nowNanos;
        }
        lost.add(rank);
    }

    private void tellLost() {
        List<Integer> ranks = lost.stream().map(remaining.left()::indexOf).toList();
        assembly.fail(
                Cause.LOST,
                ranks,
                "ranks " + RankList.text(ranks)
                        + " have ended or closed their communicator: nobody listens on their ports any more");
    }
}
