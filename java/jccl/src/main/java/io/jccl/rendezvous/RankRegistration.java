package io.jccl.rendezvous;

import io.jccl.wire.FrameLink;
import io.jccl.wire.FrameType;
import io.jccl.wire.LastEntered;
import io.jccl.wire.Limits;
import io.jccl.wire.RankList;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Registers all ranks of a group at a server. Rank 0 says how many ranks there are. The server refuses a rank that says
 * another size, and a rank whose number is taken; the others continue. The first rank whose time-out passes ends the
 * registration for all ranks, so that all name the same missing ranks. For use by one thread.
 */
public final class RankRegistration {

    private static final String REMEDY = "; start the missing ranks, look into their logs, or raise JCCL_INIT_TIMEOUT";

    private static final int MAX_BLOB_BYTES = 2048;
    private static final int MAX_VERSION_CHARS = 200;

    private static final int MAX_KEY_CHARS = 1000;

    private record Member(FrameLink link, byte[] blob) {}

    /** The reason why initialisation failed. The order of the constants is part of the wire format. */
    public enum Cause {
        /** Ranks did not come in time. */
        MISSING,
        /** Ranks came and left, or are known to have ended. */
        LOST,
        /** The ranks cannot initialise a group for another reason. */
        REFUSED
    }

    /**
     * A rank's first frame. {@code entered} contains the last operations that the rank entered in the previous group.
     */
    public record Hello(String version, int rank, int size, int oldRank, LastEntered entered, String key, byte[] blob) {

        /** The first frame of a rank without a previous group. */
        public Hello(String version, int rank, int size, int oldRank, String key, byte[] blob) {
            this(version, rank, size, oldRank, LastEntered.NOTHING, key, blob);
        }

        public static Hello read(WireReader in) {
            Hello hello = new Hello(
                    in.text(MAX_VERSION_CHARS),
                    in.i32(),
                    in.i32(),
                    in.i32(),
                    LastEntered.read(in),
                    in.text(MAX_KEY_CHARS),
                    in.blob(MAX_BLOB_BYTES));
            in.end();
            return hello;
        }

        public Hello with(byte[] otherBlob) {
            return new Hello(version, rank, size, oldRank, entered, key, otherBlob);
        }

        public WireWriter write() {
            WireWriter out = new WireWriter()
                    .text(version, MAX_VERSION_CHARS)
                    .i32(rank)
                    .i32(size)
                    .i32(oldRank);
            entered.write(out);
            return out.text(key, MAX_KEY_CHARS).blob(blob);
        }
    }

    private final String version;
    private final Joiners joiners;
    private final Map<Integer, SortedMap<Integer, Member>> bySize = new HashMap<>();
    // by link: the rank and the size that the rank has named
    private final Map<FrameLink, int[]> places = new HashMap<>();
    private final Set<Integer> notified = new HashSet<>(); // ranks that were sent the failure
    private int size;
    private byte[] failure;

    /**
     * The processes that join a communicator while it is reformed. They get the last ranks of the new communicator, and
     * register when all ranks and all these processes have come.
     */
    public interface Joiners {

        /** Returns the number of processes that are awaited. */
        public int awaited();

        /** Returns the number of processes that have come. */
        int present();
    }

    private static final Joiners NO_JOINERS = new Joiners() {
        @Override
        public int awaited() {
            return 0;
        }

        @Override
        public int present() {
            return 0;
        }
    };

    /**
     * Creates an empty registration.
     *
     * @param version the version that all members must run
     * @param size the number of members, or 0 to learn it from rank 0
     */
    public RankRegistration(String version, int size) {
        this(version, size, NO_JOINERS);
    }

    /** Creates an empty registration of the given size, which includes the processes that join. */
    public RankRegistration(String version, int size, Joiners joiners) {
        this.version = version;
        this.size = size;
        this.joiners = joiners;
    }

    /**
     * Handles a rank's first frame.
     *
     * @return true if all ranks have now come
     */
    public boolean join(FrameLink link, Hello hello) {
        int rank = hello.rank();
        int theirSize = hello.size();
        String refusal = refusal(hello.version(), rank, theirSize, places.containsKey(link));
        if (refusal != null) {
            refuse(link, refusal);
            return false;
        }
        if (failure != null) {
            notified.add(rank);
            link.send(FrameLink.encode(FrameType.FAILED, failure));
            return false;
        }
        places.put(link, new int[] {rank, theirSize});
        bySize.computeIfAbsent(theirSize, s -> new TreeMap<>()).put(rank, new Member(link, hello.blob()));
        if (rank == 0 && size == 0) {
            size = theirSize;
            refuseOtherSizes();
        }
        return complete();
    }

    /**
     * Returns the reason to refuse a rank, or a process that joins, because it runs another version; null if it runs
     * the same.
     */
    public String refusal(String who, String theirVersion) {
        return theirVersion.equals(version)
                ? null
                : who + " runs version=\"" + theirVersion + "\", the group runs version=\"" + version
                        + "\": use the same JCCL on all ranks";
    }

    private String refusal(String theirVersion, int rank, int theirSize, boolean again) {
        String otherVersion = refusal("rank=" + rank, theirVersion);
        if (otherVersion != null) {
            return otherVersion;
        }
        if (theirSize < 1 || theirSize > Limits.MAX_RANKS || rank < 0 || rank >= theirSize || again) {
            return "rank=" + rank + " size=" + theirSize + ": expected a size of 1 to " + Limits.MAX_RANKS
                    + " and a rank from 0 to size-1, once";
        }
        if (size != 0 && theirSize != size) {
            return wrongSize(rank, theirSize);
        }
        SortedMap<Integer, Member> present = bySize.get(theirSize);
        if (present != null && present.containsKey(rank)) {
            return "rank=" + rank + " is taken by remote="
                    + present.get(rank).link().remote()
                    + ": give every process its own rank, and end processes that an earlier attempt of the job"
                    + " has left";
        }
        return null;
    }

    private String wrongSize(int rank, int theirSize) {
        return "rank=" + rank + " came with size=" + theirSize + ", rank 0 says size=" + size
                + ": start all ranks with the same size";
    }

    private void refuseOtherSizes() {
        for (Map.Entry<Integer, SortedMap<Integer, Member>> group : bySize.entrySet()) {
            if (group.getKey() != size) {
                group.getValue().forEach((rank, member) -> {
                    places.remove(member.link());
                    refuse(member.link(), wrongSize(rank, group.getKey()));
                });
            }
        }
        bySize.keySet().removeIf(other -> other != size);
    }

    public static void refuse(FrameLink link, String text) {
        link.send(FrameType.REFUSED, new WireWriter().text(text, Limits.MAX_TEXT));
        link.closeWhenSent();
    }

    /** Removes a rank whose connection is gone. Its place is free again, but initialisation fails. */
    public void lose(FrameLink link, String why) {
        remove(
                link,
                ", which had come from " + link.remote() + ", left: " + why
                        + "; its process ended, or its thread was interrupted");
    }

    /** Removes a rank that leaves and says why. Its place is free again, but initialisation fails. */
    void leave(FrameLink link, String why) {
        remove(link, " gave up: " + why);
    }

    private void remove(FrameLink link, String what) {
        int[] place = places.remove(link);
        if (place != null) {
            bySize.get(place[1]).remove(place[0]);
            fail(Cause.LOST, Set.of(place[0]), "rank " + place[0] + what);
        }
    }

    /** Forgets a rank that does not need the server any more. */
    void forget(FrameLink link) {
        places.remove(link);
    }

    /** Returns true if no rank needs the server any more. */
    boolean isEmpty() {
        return places.isEmpty();
    }

    /** Returns the rank to which a link belongs, or -1 if there is none. */
    public int rankOf(FrameLink link) {
        int[] place = places.get(link);
        return place == null ? -1 : place[0];
    }

    /**
     * Fails initialisation because a rank's time-out, given as text, has passed. Sends every rank the missing ranks.
     */
    public void giveUp(FrameLink link, String time) {
        int[] place = places.get(link);
        if (place == null) {
            return;
        }
        int ofSize = size == 0 ? place[1] : size;
        int ranks = ofSize - joiners.awaited();
        SortedSet<Integer> missing = missingRanks(ofSize);
        List<String> late = new ArrayList<>();
        if (!missing.isEmpty()) {
            late.add(RankList.late(missing, ranks, "", time));
        }
        if (joiners.present() < joiners.awaited()) {
            late.add(joinersText() + " within " + time);
        }
        fail(Cause.MISSING, missing, String.join("; ", late) + REMEDY);
    }

    private String joinersText() {
        return joiners.present() + " of " + joiners.awaited() + " processes came to join";
    }

    /**
     * Sends the failure to all registered ranks, and to ranks that register later. Only the first failure counts. May
     * be called again after an error of the JVM.
     *
     * @param ranks the ranks to blame
     */
    public void fail(Cause cause, Collection<Integer> ranks, String text) {
        if (failure == null) {
            failure = new WireWriter()
                    .u8(cause.ordinal())
                    .ranks(ranks)
                    .text(text, Limits.MAX_TEXT)
                    .toBytes();
        }
        places.forEach((member, place) -> {
            if (!notified.contains(place[0])) {
                member.send(FrameLink.encode(FrameType.FAILED, failure));
                notified.add(place[0]);
            }
        });
    }

    /** Returns true if a rank was sent the failure. */
    public boolean hasNotified(int rank) {
        return notified.contains(rank);
    }

    /** Returns true if every rank of a group, except one, was sent the failure. */
    public boolean hasNotifiedAllBut(int rank, int ofSize) {
        return notified.size() - (notified.contains(rank) ? 1 : 0) == ofSize - 1;
    }

    public boolean failed() {
        return failure != null;
    }

    /** Returns the missing ranks, except those that are reserved for processes that join. */
    public SortedSet<Integer> missingRanks(int ofSize) {
        return missing(ofSize).headSet(ofSize - joiners.awaited());
    }

    private SortedSet<Integer> missing(int ofSize) {
        SortedMap<Integer, Member> present = bySize.getOrDefault(ofSize, new TreeMap<>());
        SortedSet<Integer> missing = new TreeSet<>();
        for (int rank = 0; rank < ofSize; rank++) {
            if (!present.containsKey(rank)) {
                missing.add(rank);
            }
        }
        return missing;
    }

    /** Returns a text that says which ranks are awaited: {@code rank 0 waits for ranks {3,7}}. */
    private String waits(int theirSize) {
        int ofSize = size == 0 ? theirSize : size;
        SortedSet<Integer> missing = missingRanks(ofSize);
        if (missing.isEmpty() && joiners.awaited() > 0) {
            return "rank 0 waits for processes that join: " + joinersText() + REMEDY;
        }
        String waiting = missing.contains(0) ? "the rendezvous server waits for ranks " : "rank 0 waits for ranks ";
        int ranks = ofSize - joiners.awaited();
        return waiting + RankList.text(missing) + ", arrived=" + (ranks - missing.size()) + " size=" + ranks + REMEDY;
    }

    /** Returns a line with the missing ranks, for the log; empty if no rank has come yet. */
    String progress() {
        return places.isEmpty() ? "" : waits(places.values().iterator().next()[1]);
    }

    /** Returns the ranks that have not come; nothing if no rank has come yet. */
    public AwaitedRanks.Waiting awaited(String what) {
        if (places.isEmpty()) {
            return AwaitedRanks.Waiting.NOTHING;
        }
        int ofSize = size == 0 ? places.values().iterator().next()[1] : size;
        return new AwaitedRanks.Waiting("", what, ofSize, missing(ofSize));
    }

    boolean complete() {
        return size != 0 && bySize.getOrDefault(size, new TreeMap<>()).size() == size;
    }

    int size() {
        return size;
    }

    /** Returns the links of all members by rank. Only for a complete registration. */
    public List<FrameLink> links() {
        return bySize.get(size).values().stream().map(Member::link).toList();
    }

    /** Returns the blob of a rank's hello. Only for a complete registration. */
    public byte[] blob(int rank) {
        return bySize.get(size).get(rank).blob();
    }
}
