package io.jccl.control;

import io.jccl.rendezvous.AwaitedRanks;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.wire.FrameType;
import io.jccl.wire.GroupLink;
import io.jccl.wire.LastEntered;
import io.jccl.wire.Reactor;
import io.jccl.wire.WireReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;

/**
 * A group that was split off from the group of a {@link CoordinatorServer} and shares its connections and its thread. It
 * exists from the first rank that enters it until rank 0 has closed it and the others have left. Ranks that have not
 * entered it yet get their frames when they do. Used only by the server's thread.
 */
final class SplitGroup {

    private static final long LATE_ENTRY_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final String name;
    private final LongSupplier clock;
    private final Map<Integer, Integer> ranks = new HashMap<>(); // by the numbers in the server's group
    private final List<GroupLink> links = new ArrayList<>();
    private final boolean[] entered;
    private final CompleteGroup group;
    private final Reactor.Ticker ticker;
    private final Runnable whenEnded;
    private final Departure departure;
    private boolean ended;

    /**
     * Creates the group.
     *
     * @param number identifies the group on its connections
     * @param members the ranks of the group in its order, by their numbers in the server's group
     * @param link makes the group's part of a connection, for a rank's number in the server's group
     * @param whenEnded is called when the group has ended
     */
    SplitGroup(
            long number,
            int[] members,
            IntFunction<GroupLink> link,
            BootstrapOptions options,
            Reactor reactor,
            Runnable whenEnded) {
        this.name = HexFormat.of().toHexDigits((int) (number >>> Integer.SIZE));
        this.clock = options.clock();
        this.whenEnded = whenEnded;
        this.entered = new boolean[members.length];
        for (int rank = 0; rank < members.length; rank++) {
            ranks.put(members[rank], rank);
            links.add(link.apply(members[rank]));
        }
        this.departure = new Departure(options);
        Reactor.Ticker[] made = new Reactor.Ticker[1];
        this.group = new CompleteGroup(links, options, false, reactor, () -> made[0].soon(), this::allLeft);
        this.ticker = reactor.every(this::tick);
        made[0] = ticker;
    }

    /** Notes that a rank has entered the group. */
    void enter(int sharedRank) {
        Integer rank = ranks.get(sharedRank);
        if (rank != null) {
            entered[rank] = true;
            if (rank == 0) {
                departure.cancel();
            }
            links.get(rank).enter();
            group.onAlive(rank);
        }
    }

    void onFrame(int sharedRank, FrameType type, WireReader body) {
        Integer rank = ranks.get(sharedRank);
        if (rank != null) {
            group.onAlive(rank);
            group.onFrame(rank, type, body);
            endIfAbandoned();
        }
    }

    /** Handles the end of a rank's connection, as {@link CompleteGroup#onClosed}. */
    void onClosed(int sharedRank, String why, long stoodStillMillis) {
        Integer rank = ranks.get(sharedRank);
        if (rank != null) {
            group.onClosed(rank, why, stoodStillMillis);
            endIfAbandoned();
        }
    }

    /**
     * Ends the group if rank 0, which would end it, has never entered it, and the ranks that have entered it are gone. If
     * these have failed, rank 0 may still enter for some time, and then gets the failure.
     */
    private void endIfAbandoned() {
        if (entered[0] || IntStream.range(0, entered.length).anyMatch(rank -> entered[rank] && group.isHere(rank))) {
            return;
        }
        if (!group.hasFailed() || !group.isHere(0)) {
            end();
        } else if (!departure.hasBegun()) {
            departure.beginWithoutGroup(LATE_ENTRY_NANOS, clock.getAsLong());
            ticker.soon();
        }
    }

    void breakDown(Throwable error) {
        group.breakDown(error);
    }

    AwaitedRanks.Waiting awaited() {
        return group.awaited(name);
    }

    private long tick(long now) {
        if (departure.isDue(now)) {
            end();
        }
        return departure.next(now, group.tick(now));
    }

    /** Ends the group when the other ranks have left, see {@link CoordinatorServer#closeAfterOthers}. */
    void closeAfterOthers(LastEntered lastEntered, long now) {
        departure.begin(lastEntered, group.hasFailed(), now);
        ticker.soon();
        if (departure.hasAllLeft()) {
            end();
        }
    }

    private void allLeft() {
        departure.allLeft();
        if (departure.hasBegun()) {
            end();
        }
    }

    private void end() {
        if (!ended) {
            ended = true;
            departure.end(group);
            group.close();
            ticker.end();
            whenEnded.run();
        }
    }
}
