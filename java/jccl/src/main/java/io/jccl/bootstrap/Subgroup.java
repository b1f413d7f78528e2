package io.jccl.bootstrap;

import io.jccl.UniqueId;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** How part of a group becomes a group of its own: two gathers in the parent, then a root at the new rank 0. */
final class Subgroup {

    private record Wish(int parentRank, int color, int key) {}

    private Subgroup() {}

    static Optional<Bootstrap> form(OutOfBandChannel parent, int color, int key, BootstrapOptions options) {
        byte[] mine = new WireWriter().i32(color).i32(key).toBytes();
        List<byte[]> all = parent.allGather(mine, options.initTimeout());
        List<Wish> members = new ArrayList<>();
        for (int rank = 0; rank < all.size(); rank++) {
            WireReader in = new WireReader(all.get(rank));
            Wish wish = new Wish(rank, in.i32(), in.i32());
            if (wish.color() == color) {
                members.add(wish);
            }
        }
        members.sort(Comparator.comparingInt(Wish::key).thenComparingInt(Wish::parentRank));
        int leader = members.get(0).parentRank();
        boolean leads = color >= 0 && leader == parent.rank();
        RendezvousServer.Started started = leads ? RendezvousServer.open(options) : null;
        boolean joined = false;
        // A rank that is lost, or interrupted, on its way to the root is known to the parent only.
        Runnable parentFailed = () -> started.root()
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
                started.root().fail(RankRegistration.Cause.LOST, List.of(0), "rank 0 gave up"); // and ends by itself
            }
        }
    }
}
