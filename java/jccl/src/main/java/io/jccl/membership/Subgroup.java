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
import io.jccl.wire.RankList;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Splits a group: two gathers in the parent group, then a rendezvous server at rank 0 of the new group. Exceptions name
 * ranks by their numbers in the parent, because the parent is what remains when a split fails.
 */
final class Subgroup {

    private record Member(int parentRank, int color, int key) {}

    private static final String PARENT_FAILED = "the communicator that is split has failed; its exception says why";

    /**
     * The maximum time for which a rank waits until its own connection reports that the parent group has failed. The
     * leader may learn of the failure earlier.
     */
    private static final Duration PARENT_FAILS = Duration.ofSeconds(1);

    private Subgroup() {}

    static <T> Optional<T> join(
            OutOfBandChannel parent,
            int color,
            int key,
            BootstrapOptions options,
            BiFunction<Bootstrap, List<Integer>, T> initialize) {
        byte[] mine = new WireWriter().i32(color).i32(key).toBytes();
        List<byte[]> all = parent.allGather(mine, options.initTimeout());
        List<Member> members = new ArrayList<>();
        for (int rank = 0; rank < all.size(); rank++) {
            WireReader in = new WireReader(all.get(rank));
            Member member = new Member(rank, in.i32(), in.i32());
            if (member.color() == color) {
                members.add(member);
            }
        }
        members.sort(Comparator.comparingInt(Member::key).thenComparingInt(Member::parentRank));
        int leader = members.get(0).parentRank();
        boolean leads = color >= 0 && leader == parent.rank();
        RendezvousServer.Started started = leads ? RendezvousServer.open(options) : null;
        boolean[] joined = {false};
        // Only the parent group notices a rank that is lost or interrupted before it reaches the rendezvous server.
        Runnable parentFailed = () -> started.server().fail(RankRegistration.Cause.REFUSED, List.of(), PARENT_FAILED);
        if (leads) {
            parent.whenFailed(parentFailed);
        }
        try {
            byte[] idBytes = leads ? started.id().toBytes() : new byte[0];
            List<byte[]> ids = parent.allGather(idBytes, options.initTimeout());
            if (color < 0) {
                return Optional.empty();
            }
            UniqueId id = UniqueId.fromBytes(ids.get(leader));
            int newRank = 0;
            while (members.get(newRank).parentRank() != parent.rank()) {
                newRank++;
            }
            int rank = newRank;
            return Optional.of(naming(members, () -> {
                Bootstrap group = Bootstrap.join(id, rank, members.size(), options);
                joined[0] = true;
                return initialize.apply(group, parentRanks(members));
            }));
        } catch (BootstrapException e) {
            if (!e.getMessage().contains(PARENT_FAILED)) {
                throw e;
            }
            throw parent.awaitFailure(PARENT_FAILS).orElse(e);
        } finally {
            parent.forget(parentFailed);
            if (started != null && !joined[0]) {
                // After this failure, the server ends by itself.
                started.server().fail(RankRegistration.Cause.LOST, List.of(0), "rank 0 gave up");
            }
        }
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
