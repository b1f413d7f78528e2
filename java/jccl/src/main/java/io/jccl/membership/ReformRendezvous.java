package io.jccl.membership;

import io.jccl.rendezvous.AwaitedRanks;
import io.jccl.rendezvous.RankRegistration;
import io.jccl.rendezvous.RankRegistration.Cause;
import io.jccl.rendezvous.RendezvousServer;
import io.jccl.wire.FrameLink;
import io.jccl.wire.RankList;
import io.jccl.wire.Reactor;
import io.jccl.wire.Server;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

/**
 * The part of a {@link RendezvousServer} that is needed to reform a communicator. Every remaining rank runs a server
 * with this part on its reserved port. The ranks register at the server of the lowest remaining rank, the leader. The
 * leader connects to the servers of ranks that have not come. In this way it finds ranks that have ended although no
 * other rank is connected to them. It also finds ranks that exclude different ranks and therefore have another leader.
 * Used only by the server's thread.
 *
 * <p>If a rank is an attempt behind the leader, the server sends it the result of that earlier attempt. If a rank is an
 * attempt ahead, it waits until the leader begins that attempt.
 */
final class ReformRendezvous implements RendezvousServer.Reform {

    static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    /**
     * The time after which a waiting rank that excludes different ranks is refused. Until then the difference may only
     * mean that one of the two ranks is an attempt ahead. The time is longer than a second, because an attempt can last
     * a second longer on a rank that waits for a server which accepts connections and does not answer.
     */
    private static final long DIFFERENT_NANOS = TimeUnit.MILLISECONDS.toNanos(2500);

    /** The time after which ranks that have not come are probed. Living ranks normally come earlier by themselves. */
    private static final long PROBE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** Ranks that end within this time count as one failure. */
    private static final long GATHER_LOST_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private record Waiting(FrameLink link, RankRegistration.Hello hello, long since) {}

    private final RemainingRanks remaining;
    private final Admission admission;
    private final Map<String, RankRegistration> earlier; // failed attempts, by key
    private final List<Waiting> waiting = new ArrayList<>();
    private final Map<Integer, ReformProbe> probes = new HashMap<>(); // by rank of the old group
    private final SortedSet<Integer> lost = new TreeSet<>(); // ranks of the old group
    private boolean completed;
    private String different; // text that names ranks with different exclusions; null if no such ranks are known
    private RankRegistration registration;
    private Reactor reactor;
    private byte[] secret;
    private long beginNanos;
    private long lostNanos; // time at which the first lost rank was found
    private long nowNanos; // time of the last tick

    /**
     * Creates the part of the server for one attempt.
     *
     * @param earlier the failed attempts of this communicator, by key; {@link #begin} adds this one
     */
    ReformRendezvous(RemainingRanks remaining, Map<String, RankRegistration> earlier) {
        this.remaining = remaining;
        this.earlier = earlier;
        this.admission = new Admission(remaining);
    }

    @Override
    public int size() {
        return remaining.newSize();
    }

    @Override
    public RankRegistration.Joiners joiners() {
        return admission;
    }

    @Override
    public void admitIfAllCame() {
        admission.admitIfAllCame();
    }

    @Override
    public long tickNanos() {
        return TICK_NANOS;
    }

    /** Returns the ranks of the old group, and the number of joining processes, that have not come yet. */
    @Override
    public AwaitedRanks.Waiting awaited() {
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

    @Override
    public void begin(
            RendezvousServer rendezvous, Server ofRanks, RankRegistration ofServer, byte[] serverSecret, long now) {
        registration = ofServer;
        reactor = ofRanks.reactor();
        secret = serverSecret;
        beginNanos = now;
        earlier.put(remaining.key(), ofServer);
        admission.open(ofRanks, ofServer, serverSecret, rendezvous);
    }

    /**
     * Notes that the group is initialised. For a while the server continues to refuse ranks that the group leaves out
     * and that still wait for ranks of the group.
     */
    @Override
    public void complete() {
        completed = true;
        admission.close("the ranks have continued without this process");
        earlier.remove(remaining.key());
    }

    /** Returns true if the server registers a rank. Otherwise the rank was answered, or it waits. */
    @Override
    public boolean admits(FrameLink link, RankRegistration.Hello hello, long now) {
        boolean same = hello.key().equals(remaining.key());
        RankRegistration past = same ? registration : earlier.get(hello.key());
        if (past != null && past.failed() && !past.hasNotified(hello.rank())) {
            past.join(link, hello);
            return false;
        }
        if (same && !completed && !registration.failed()) {
            if (!remaining.leads()) {
                // the link is the leader's probe, which is not needed: this rank connects to the leader by itself
                link.close();
            }
            return remaining.leads();
        }
        waiting.add(new Waiting(link, hello, now)); // waits until the next attempt closes the connection
        return false;
    }

    @Override
    public void tick(long now) {
        nowNanos = now;
        waiting.removeIf(this::isPartOfTheDifference);
        admission.tick();
        if (registration.failed()) {
            admission.close("the ranks that reform the communicator start again, or give up");
            return;
        }
        for (Iterator<Waiting> each = waiting.iterator(); each.hasNext(); ) {
            Waiting one = each.next();
            // true if that rank has begun another attempt with the same arguments, which this rank has not begun yet
            boolean same = one.hello().key().equals(remaining.key());
            // The other rank already reforms the group that was just initialised, and this rank may just be late to
            // reform it.
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

    /**
     * If the known difference names the exclusions of a waiting rank, refuses the rank and returns true. Ranks with
     * other exclusions are not refused, because they may have begun another attempt.
     */
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
                reactor, remaining.addresses(rank), remaining.rendezvousKey(secret), hello, new ReformProbe.Result() {
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
