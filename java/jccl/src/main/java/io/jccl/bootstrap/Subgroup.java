package io.jccl.bootstrap;

import io.jccl.UniqueId;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** Splits a group: two gathers in the parent, then a rendezvous server at the new rank 0. */
final class Subgroup {

    private record Member(int parentRank, int color, int key) {}

    private Subgroup() {}

    static Optional<Bootstrap> join(OutOfBandChannel parent, int color, int key, BootstrapOptions options) {
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
        boolean joined = false;
        // Only the parent knows of a rank that is lost, or interrupted, before it reaches the rendezvous server.
        Runnable parentFailed = () -> started.server()
                .fail(
                        RankRegistration.Cause.REFUSED,
                        List.of(),
                        "the communicator that is split has failed; its exception says why");
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
            Bootstrap group = Bootstrap.join(id, newRank, members.size(), options);
            joined = true;
            return Optional.of(group);
        } finally {
            parent.forget(parentFailed);
            if (started != null && !joined) {
                started.server().fail(RankRegistration.Cause.LOST, List.of(0), "rank 0 gave up"); // and ends by itself
            }
        }
    }
}
