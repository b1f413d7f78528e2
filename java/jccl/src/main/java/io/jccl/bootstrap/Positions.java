package io.jccl.bootstrap;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * The last known position of each rank, and which ranks wait to leave. A rank that has sent its FIN may leave when all
 * others have come as far, so that its operations have been compared; or after a time limit. For one thread.
 */
final class Positions {

    private final long leaveNanos;
    private final Position[] known;
    private final Map<Integer, Long> leavingSince = new HashMap<>();
    private Position asked = Position.START;

    /**
     * Positions of ranks that have entered nothing.
     *
     * @param leaveNanos how long a rank waits at most
     */
    Positions(int size, long leaveNanos) {
        this.leaveNanos = leaveNanos;
        this.known = new Position[size];
        Arrays.fill(known, Position.START);
    }

    Position of(int rank) {
        return known[rank];
    }

    /**
     * Takes a rank's position.
     *
     * @return an operation that it and another have called differently, see {@link LastEntered}; 0 if none is known
     */
    long note(int rank, Position position) {
        if (position.equals(known[rank])) {
            return 0;
        }
        known[rank] = position;
        for (Position other : known) {
            long difference = position.differenceFrom(other);
            if (difference != 0) {
                return difference;
            }
        }
        return 0;
    }

    /**
     * A rank asks to leave.
     *
     * @param here whether a rank has not left
     * @return the ranks to ask how far they are
     */
    List<Integer> leave(int rank, long now, IntPredicate here) {
        leavingSince.put(rank, now);
        Position position = known[rank];
        if (asked.hasReached(position)) {
            return List.of();
        }
        asked = position;
        return IntStream.range(0, known.length)
                .filter(here)
                .filter(other -> !leavingSince.containsKey(other) && !known[other].hasReached(position))
                .boxed()
                .toList();
    }

    boolean isLeaving(int rank) {
        return leavingSince.containsKey(rank);
    }

    /** Takes the ranks that may leave now: those that all others have reached, and those that have waited. */
    List<Integer> takeLeavers(long now, IntPredicate here, boolean all) {
        if (leavingSince.isEmpty()) {
            return List.of();
        }
        LastEntered slowest = IntStream.range(0, known.length)
                .filter(here)
                .mapToObj(rank -> known[rank].lastEntered())
                .reduce(new LastEntered(Long.MAX_VALUE, Long.MAX_VALUE), LastEntered::min);
        List<Integer> leavers = leavingSince.entrySet().stream()
                .filter(entry -> all
                        || now - entry.getValue() >= leaveNanos
                        || slowest.hasReached(known[entry.getKey()].lastEntered()))
                .map(Map.Entry::getKey)
                .sorted()
                .toList();
        leavers.forEach(leavingSince::remove);
        return leavers;
    }

    /** In how many nanoseconds a rank has waited long enough. */
    long next(long now) {
        return leavingSince.values().stream()
                .mapToLong(since -> since + leaveNanos - now)
                .min()
                .orElse(Long.MAX_VALUE);
    }
}
