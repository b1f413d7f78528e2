package io.jccl.tuning;

import io.jccl.Collective;
import java.util.List;

/** The ways in which host ranks execute an operation with the direct algorithm. */
enum DirectForm {

    /** Every rank sends to every rank that needs its data. */
    ONE_SHOT,
    /** Every rank reduces one part of the data and sends the result to all. */
    TWO_SHOT,
    /** Only one rank of each host sends to other hosts, which saves messages between hosts. */
    LEADERS,
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

    private static final int OWN_CACHE_BYTES = 1024 * 1024;

    /** Returns the forms that are worth comparing for an operation; at least one. */
    static List<DirectForm> worthComparing(Collective collective, CommunicatorShape shape, double bytes) {
        if (isTwoShot(collective, shape, bytes)) {
            return List.of(TWO_SHOT);
        }
        if (shape.hosts() == 1 || shape.hosts() == shape.ranks()) {
            return List.of(ONE_SHOT);
        }
        return switch (collective) {
            case ALL_REDUCE -> List.of(LEADERS, SHARES);
            case ALL_GATHER, REDUCE_SCATTER -> bytes <= MAX_LEADER_PARTS_BYTES
                    ? List.of(LEADERS, SHARES)
                    : List.of(SHARES);
            case BARRIER, BROADCAST, REDUCE -> List.of(LEADERS);
            case ALL_TO_ALL -> bytes * shape.localRanks() / shape.hosts() <= MAX_EXCHANGED_BYTES
                    ? List.of(LEADERS)
                    : List.of(ONE_SHOT);
            default -> List.of(ONE_SHOT);
        };
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
            return choice.twoShot() ? SHARES : LEADERS;
        }
        return choice.twoShot() ? TWO_SHOT : ONE_SHOT;
    }

    /** Returns true if the choice of this form is {@link Choice#twoShot}. */
    boolean isTwoShot() {
        return this == TWO_SHOT || this == SHARES;
    }

    /** Returns true if the choice of this form is {@link Choice#byHosts}. */
    boolean isByHosts() {
        return this == LEADERS || this == SHARES;
    }
}
