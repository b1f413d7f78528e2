package io.jccl.membership;

import io.jccl.BootstrapException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.PeerFailedException;
import io.jccl.TransportException;
import io.jccl.UniqueId;
import io.jccl.control.OutOfBandChannel;
import io.jccl.internal.Causes;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.rendezvous.RankRegistration;
import io.jccl.rendezvous.RendezvousServer;
import io.jccl.wire.RankList;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * One rank's part in a split of its group. One gather in the group tells each rank who belongs to the new groups, and
 * brings what these ranks tell each other. A small group whose rank 0 is that of the parent uses the parent's
 * connections. Any other small group uses those of an earlier group with the same rank 0 ({@link Star}), if there are
 * any. The remaining groups meet at a rendezvous server of their rank 0, whose id a second gather brings. Exceptions name
 * ranks by their numbers in the parent, because the parent is what remains when a split fails.
 *
 * <p>Made by {@link Bootstrap#beginSplit}. {@link #join} must follow before any other collective call of the parent.
 */
public final class Subgroup implements AutoCloseable {

    /**
     * Initialises the communicator of a new group.
     *
     * @param <T> the communicator
     */
    @FunctionalInterface
    public interface Initializer<T> {

        /**
         * Makes the result of {@link #join}.
         *
         * @param ranks the ranks of the group, by their numbers in the parent
         * @param introductions what these ranks have passed to {@link #join}
         */
        T initialize(Bootstrap group, List<Integer> ranks, List<byte[]> introductions);
    }

    @SuppressWarnings("ArrayRecordComponent") // the array is never compared
    private record Member(int parentRank, int color, int key, Map<Integer, Long> stars, byte[] introduction) {

        static Member read(int parentRank, WireReader in) {
            int color = in.i32();
            int key = in.i32();
            Map<Integer, Long> stars = new HashMap<>();
            for (int left = in.i32In("stars", 0, MAX_STARS); left > 0; left--) {
                stars.put(in.i32(), in.i64());
            }
            return new Member(parentRank, color, key, stars, in.blob(MAX_INTRODUCTION_BYTES));
        }
    }

    /** The size up to which rank 0 sends each answer of a gather to each rank itself. */
    private static final int MAX_SHARING_RANKS = 64;

    /** The number of ranks other than rank 0 to which connections are kept. Each has a thread on each of its ranks. */
    private static final int MAX_STARS = 8;

    private static final int MAX_INTRODUCTION_BYTES = 1 << 18;

    private static final String PARENT_FAILED = "the communicator that is split has failed; its exception says why";

    /**
     * The maximum time for which a rank waits until its own connection reports that the parent group has failed. The
     * leader may learn of the failure earlier.
     */
    private static final Duration PARENT_FAILS = Duration.ofSeconds(1);

    private final Bootstrap group;
    private final OutOfBandChannel parent;
    private final int color;
    private final int key;
    private final byte[] secret; // of the new group, if it uses the parent's connections
    private ReservedPort reserved; // null if none was reserved, or the new group has it

    Subgroup(Bootstrap group, OutOfBandChannel parent, int color, int key) {
        this.group = group;
        this.parent = parent;
        this.color = color;
        this.key = key;
        this.secret = group.secretOfPart(color);
    }

    /**
     * Returns the identity that the new group will have if it consists of all ranks of the parent in their order. Empty
     * if this rank's color and key are none with which a group is usually copied, or if such a group has an identity
     * that is not known yet.
     */
    public Optional<GroupIdentity> identityOfCopy() {
        boolean copies = color == 0 && (key == 0 || key == parent.rank());
        return copies && parent.size() <= MAX_SHARING_RANKS
                ? Optional.of(new GroupIdentity(parent.rank(), parent.size(), secret))
                : Optional.empty();
    }

    /**
     * Reserves this rank's port in the new group. Returns its address, see {@link Bootstrap#rendezvousAddress}.
     *
     * @throws BootstrapException if there is no free port
     */
    public String reserveAddress() {
        reserved = group.reservePort();
        return reserved.encoded();
    }

    /**
     * Joins the new group. All ranks of the parent call this.
     *
     * @param options the settings of the new group
     * @param introduction what the other ranks of the new group must know of this one
     * @param initialize makes the result
     * @return the result of {@code initialize}, or empty for a negative color
     * @throws CommunicationTimeoutException if not all ranks came in time; names the missing ones by their ranks in
     *     the parent
     * @throws PeerFailedException if ranks failed; names them by their ranks in the parent
     */
    public <T> Optional<T> join(BootstrapOptions options, byte[] introduction, Initializer<T> initialize) {
        List<Star> stars = group.stars();
        WireWriter mine = new WireWriter().i32(color).i32(key).i32(stars.size());
        stars.forEach(star -> mine.i32(star.leader()).i64(star.id()));
        List<byte[]> all = parent.allGather(mine.blob(introduction).toBytes(), options.initTimeout());
        SortedMap<Integer, List<Member>> colors = new TreeMap<>();
        for (int rank = 0; rank < all.size(); rank++) {
            Member member = Member.read(rank, new WireReader(all.get(rank)));
            if (member.color() >= 0) {
                colors.computeIfAbsent(member.color(), one -> new ArrayList<>()).add(member);
            }
        }
        colors.values()
                .forEach(members ->
                        members.sort(Comparator.comparingInt(Member::key).thenComparingInt(Member::parentRank)));
        List<Member> members = colors.getOrDefault(color, List.of());
        boolean meets = color >= 0 && !sharesConnections(members) && !haveStar(members);
        RendezvousServer.Started started =
                meets && leader(members) == parent.rank() ? RendezvousServer.open(options) : null;
        Bootstrap[] joined = {null};
        // Only the parent group notices a rank that is lost or interrupted before it reaches the new group.
        Runnable parentFailed = () -> parentFailed(started, joined[0]);
        parent.whenFailed(parentFailed);
        try {
            Optional<UniqueId> id = colors.values().stream().allMatch(one -> sharesConnections(one) || haveStar(one))
                    ? Optional.empty()
                    : exchangeIds(parent, started, meets ? leader(members) : -1, options);
            if (color < 0) {
                return Optional.empty();
            }
            List<Integer> ranks = parentRanks(members);
            int rank = ranks.indexOf(parent.rank());
            return Optional.of(naming(members, () -> {
                if (meets) {
                    joined[0] = meet(id.orElseThrow(), rank, members, options);
                } else if (sharesConnections(members)) {
                    joined[0] = group.enter(rank, ranks, secret, options);
                } else {
                    Star star = stars.stream()
                            .filter(one -> one.leader() == leader(members))
                            .findFirst()
                            .orElseThrow();
                    joined[0] = star.enter(rank, ranks, secret, options);
                }
                joined[0].splitFrom(group, reserved);
                reserved = null;
                if (parent.hasFailed()) {
                    parentFailed(started, joined[0]);
                }
                return initialize.initialize(
                        joined[0],
                        ranks,
                        members.stream().map(Member::introduction).toList());
            }));
        } catch (BootstrapException e) {
            if (!e.getMessage().contains(PARENT_FAILED)) {
                throw e;
            }
            throw parent.awaitFailure(PARENT_FAILS).orElse(e);
        } catch (PeerFailedException e) {
            // The named rank may have given up because another rank of the parent has failed, which the parent names.
            throw parent.awaitFailure(PARENT_FAILS).orElse(e);
        } catch (TransportException e) {
            // The peer's process may have ended, which the parent reports.
            throw parent.hasFailed() ? parent.awaitFailure(PARENT_FAILS).orElse(e) : e;
        } finally {
            parent.forget(parentFailed);
            if (started != null && joined[0] == null) {
                // After this failure, the server ends by itself.
                started.server().fail(RankRegistration.Cause.LOST, List.of(0), "rank 0 gave up");
            }
        }
    }

    /** Frees what the new group has not taken over. */
    @Override
    public void close() {
        if (reserved != null) {
            reserved.close();
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

    /** Returns true if the members have connections of an earlier group to their rank 0. */
    private static boolean haveStar(List<Member> members) {
        Long id = members.get(0).stars().get(leader(members));
        return id != null
                && members.stream().allMatch(one -> id.equals(one.stars().get(leader(members))));
    }

    /** Meets the other ranks of the group at their rank 0. Keeps the connections, unless there are many already. */
    private Bootstrap meet(UniqueId id, int rank, List<Member> members, BootstrapOptions options) {
        Bootstrap met = Bootstrap.join(id, rank, members.size(), options);
        boolean keeps = members.size() <= MAX_SHARING_RANKS
                && members.stream().allMatch(one -> one.stars().size() < MAX_STARS);
        if (!keeps) {
            return met;
        }
        Star star = new Star(parentRanks(members), met);
        group.keep(star);
        return star.enter(rank, star.ranks(), secret, options);
    }

    private static int leader(List<Member> members) {
        return members.get(0).parentRank();
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
