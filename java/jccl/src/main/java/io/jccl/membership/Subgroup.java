package io.jccl.membership;

import io.jccl.BootstrapException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.PeerFailedException;
import io.jccl.UniqueId;
import io.jccl.control.OutOfBandChannel;
import io.jccl.internal.Causes;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.rendezvous.RankRegistration;
import io.jccl.rendezvous.RendezvousServer;
import io.jccl.wire.Handshake;
import io.jccl.wire.RankList;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Splits a group. One gather in the parent group tells each rank who belongs to the new groups. A small group whose rank
 * 0 is that of the parent uses the parent's connections. Any other group meets at a rendezvous server of its rank 0,
 * whose id a second gather brings. Exceptions name ranks by their numbers in the parent, because the parent is what
 * remains when a split fails.
 */
final class Subgroup {

    @SuppressWarnings("ArrayRecordComponent") // the array is never compared
    private record Member(int parentRank, int color, int key, byte[] salt) {}

    /** The size up to which rank 0 sends each answer of a gather to each rank itself. */
    private static final int MAX_SHARING_RANKS = 64;

    private static final String PARENT_FAILED = "the communicator that is split has failed; its exception says why";

    /**
     * The maximum time for which a rank waits until its own connection reports that the parent group has failed. The
     * leader may learn of the failure earlier.
     */
    private static final Duration PARENT_FAILS = Duration.ofSeconds(1);

    private Subgroup() {}

    static <T> Optional<T> join(
            Bootstrap group,
            OutOfBandChannel parent,
            int color,
            int key,
            BootstrapOptions options,
            BiFunction<Bootstrap, List<Integer>, T> initialize) {
        byte[] salt = Handshake.randomBytes(Handshake.NONCE_BYTES);
        byte[] mine = new WireWriter().i32(color).i32(key).blob(salt).toBytes();
        List<byte[]> all = parent.allGather(mine, options.initTimeout());
        SortedMap<Integer, List<Member>> colors = new TreeMap<>();
        for (int rank = 0; rank < all.size(); rank++) {
            WireReader in = new WireReader(all.get(rank));
            Member member = new Member(rank, in.i32(), in.i32(), in.blob(Handshake.NONCE_BYTES));
            if (member.color() >= 0) {
                colors.computeIfAbsent(member.color(), one -> new ArrayList<>()).add(member);
            }
        }
        colors.values()
                .forEach(members ->
                        members.sort(Comparator.comparingInt(Member::key).thenComparingInt(Member::parentRank)));
        List<Member> members = colors.getOrDefault(color, List.of());
        boolean shares = color >= 0 && sharesConnections(members);
        RendezvousServer.Started started =
                color >= 0 && !shares && leader(members) == parent.rank() ? RendezvousServer.open(options) : null;
        Bootstrap[] joined = {null};
        // Only the parent group notices a rank that is lost or interrupted before it reaches the new group.
        Runnable parentFailed = () -> parentFailed(started, joined[0]);
        parent.whenFailed(parentFailed);
        try {
            Optional<UniqueId> id = colors.values().stream().allMatch(Subgroup::sharesConnections)
                    ? Optional.empty()
                    : exchangeIds(parent, started, color < 0 || shares ? -1 : leader(members), options);
            if (color < 0) {
                return Optional.empty();
            }
            int rank = rankOf(parent.rank(), members);
            return Optional.of(naming(members, () -> {
                joined[0] = shares
                        ? group.enter(rank, parentRanks(members), members.get(0).salt(), options)
                        : Bootstrap.join(id.orElseThrow(), rank, members.size(), options);
                if (parent.hasFailed()) {
                    parentFailed(started, joined[0]);
                }
                return initialize.apply(joined[0], parentRanks(members));
            }));
        } catch (BootstrapException e) {
            if (!e.getMessage().contains(PARENT_FAILED)) {
                throw e;
            }
            throw parent.awaitFailure(PARENT_FAILS).orElse(e);
        } finally {
            parent.forget(parentFailed);
            if (started != null && joined[0] == null) {
                // After this failure, the server ends by itself.
                started.server().fail(RankRegistration.Cause.LOST, List.of(0), "rank 0 gave up");
            }
        }
    }

    /** Ends the meeting of the new group's ranks, unless it has ended. */
    private static void parentFailed(RendezvousServer.Started started, Bootstrap joined) {
        if (started != null) {
            started.server().fail(RankRegistration.Cause.REFUSED, List.of(), PARENT_FAILED);
        }
        if (joined != null) {
            joined.failUnlessMet(() -> new BootstrapException(PARENT_FAILED));
        }
    }

    /**
     * Returns true if a group uses the connections of its parent. These lead to the parent's rank 0, so it must be rank
     * 0 of the group, too. A large group has its own connections, because it needs relays.
     */
    private static boolean sharesConnections(List<Member> members) {
        return leader(members) == 0 && members.size() <= MAX_SHARING_RANKS;
    }

    private static int leader(List<Member> members) {
        return members.get(0).parentRank();
    }

    private static int rankOf(int parentRank, List<Member> members) {
        return parentRanks(members).indexOf(parentRank);
    }

    /** Exchanges the ids of rendezvous servers. Returns that of a leader, or empty for leader -1. */
    private static Optional<UniqueId> exchangeIds(
            OutOfBandChannel parent, RendezvousServer.Started started, int leader, BootstrapOptions options) {
        byte[] mine = started == null ? new byte[0] : started.id().toBytes();
        List<byte[]> ids = parent.allGather(mine, options.initTimeout());
        return leader < 0 ? Optional.empty() : Optional.of(UniqueId.fromBytes(ids.get(leader)));
    }

    private static <T> T naming(List<Member> members, Supplier<T> initialize) {
        try {
            return initialize.get();
        } catch (CommunicationTimeoutException e) {
            throw new CommunicationTimeoutException(described(members, e), inParent(members, e.missingRanks()), e);
        } catch (PeerFailedException e) {
            throw new PeerFailedException(described(members, e), inParent(members, e.failedRanks()), e);
        }
    }

    private static List<Integer> parentRanks(List<Member> members) {
        return members.stream().map(Member::parentRank).toList();
    }

    private static Set<Integer> inParent(List<Member> members, Set<Integer> ranks) {
        return ranks.stream()
                .map(rank -> members.get(rank).parentRank())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static String described(List<Member> members, Exception problem) {
        return "the communicator of color=" + members.get(0).color() + " and ranks "
                + RankList.text(parentRanks(members))
                + " could not be split off. The following text numbers these ranks from 0, in the order of their keys: "
                + Causes.describe(problem);
    }
}
