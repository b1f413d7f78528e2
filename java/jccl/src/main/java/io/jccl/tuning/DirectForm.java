package io.jccl.tuning;

import io.jccl.Collective;
import java.util.List;
import java.util.stream.Stream;

/** The ways in which host ranks execute an operation with the direct algorithm. */
enum DirectForm {

    /** Every rank sends to every rank that needs its data. */
    ONE_SHOT,
    /** Every rank reduces one part of the data and sends the result to all. */
    TWO_SHOT,
    /** Only one rank of each host sends to other hosts, which saves messages between hosts. */
    LEADERS,
    /**
     * As {@link #LEADERS}, but the ranks that send to other hosts do so in rounds, each with one partner, or with a root
     * along a tree. That takes fewer messages and more hops.
     */
    ROUNDS,
    /** Every rank exchanges a share of its host's data with one rank of each other host. */
    SHARES;

    private static final int BYTES_WORTH_A_HOP = 12 * 1024;
    /**
     * Largest total size of the parts that hosts exchange through leaders, because leaders send everything before they
     * receive.
     */
    private static final int MAX_LEADER_PARTS_BYTES = 64 * 1024;

    /** The largest message of an all-to-all between two leaders. An estimate: larger ones keep the leaders busy. */
    private static final int MAX_EXCHANGED_BYTES = 32 * 1024;

    /**
     * The largest message of an all-to-all by shares, because each message travels as one chunk. Larger blocks save
     * little by travelling together.
     */
    private static final int MAX_MESSAGE_TO_PARTNER_BYTES = 128 * 1024;

    private static final int OWN_CACHE_BYTES = 1024 * 1024;

    /** Returns the forms that are worth comparing for an operation; at least one. */
    static List<DirectForm> worthComparing(Collective collective, CommunicatorShape shape, double bytes) {
        if (isTwoShot(collective, shape, bytes)) {
            return List.of(TWO_SHOT);
        }
        if (shape.hosts() == 1) {
            return List.of(ONE_SHOT);
        }
        // A rank that is alone on its host sends the same messages as a leader.
        boolean alone = shape.hosts() == shape.ranks();
        DirectForm leaders = alone ? ONE_SHOT : LEADERS;
        return switch (collective) {
            case ALL_REDUCE -> shape.ranks() == 2 ? List.of(ONE_SHOT) : withRounds(shape, leaders, SHARES);
            case ALL_GATHER, REDUCE_SCATTER -> {
                DirectForm large = alone ? ONE_SHOT : SHARES;
                yield bytes <= MAX_LEADER_PARTS_BYTES ? withRounds(shape, leaders, large) : List.of(large);
            }
            case BARRIER, BROADCAST, REDUCE -> withRounds(shape, leaders);
            case ALL_TO_ALL -> alone ? List.of(ONE_SHOT) : exchanges(shape, bytes);
            default -> List.of(ONE_SHOT);
        };
    }

    /** Returns the forms, and {@link #ROUNDS} if there are more than two hosts: two leaders have one partner each. */
    private static List<DirectForm> withRounds(CommunicatorShape shape, DirectForm... forms) {
        Stream<DirectForm> rounds = shape.hosts() > 2 ? Stream.of(ROUNDS) : Stream.of();
        return Stream.concat(Stream.of(forms), rounds).distinct().toList();
    }

    /** Fewer messages between hosts are worth further hops within hosts. */
    private static List<DirectForm> exchanges(CommunicatorShape shape, double bytes) {
        double toRank = bytes / shape.ranks() * shape.localRanks();
        if (toRank > MAX_MESSAGE_TO_PARTNER_BYTES) {
            return List.of(ONE_SHOT);
        }
        return toRank * shape.localRanks() <= MAX_EXCHANGED_BYTES ? List.of(LEADERS, SHARES) : List.of(SHARES);
    }

    /**
     * Returns true if a direct all-reduce is two-shot. Then it has two hops instead of one, and every rank sends 2
     * (n-1) / n of the data instead of n-1 times the data. Used only in shared memory, and only while the slots that a
     * rank uses in turn fit into a core's own cache: for 4 ranks from 8 to 128 KiB.
     */
    private static boolean isTwoShot(Collective collective, CommunicatorShape shape, double bytes) {
        int ranks = shape.ranks();
        double saved = (ranks - 1) * (1 - 2.0 / ranks) * bytes;
        return collective == Collective.ALL_REDUCE
                && shape.sharesMemory()
                && saved >= BYTES_WORTH_A_HOP
                && (ranks - 1) * OperationCost.SLOTS * bytes / ranks <= OWN_CACHE_BYTES;
    }

    /** Returns the form of a choice of the direct algorithm. */
    static DirectForm of(Choice choice) {
        if (choice.byHosts()) {
            return choice.twoShot() ? SHARES : choice.inRounds() ? ROUNDS : LEADERS;
        }
        return choice.twoShot() ? TWO_SHOT : ONE_SHOT;
    }

    /** Returns true if the choice of this form is {@link Choice#twoShot}. */
    boolean isTwoShot() {
        return this == TWO_SHOT || this == SHARES;
    }

    /** Returns true if the choice of this form is {@link Choice#byHosts}. */
    boolean isByHosts() {
        return this == LEADERS || this == ROUNDS || this == SHARES;
    }

    /** Returns true if the choice of this form is {@link Choice#inRounds}. */
    boolean isInRounds() {
        return this == ROUNDS;
    }
}
