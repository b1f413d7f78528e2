package io.jccl.bootstrap;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * The last known position of each rank, and which ranks wait to leave. A rank that has sent its FIN may leave when all
 * others have come as far, so that its operations have been compared; or after a time limit. Most ranks are at the same
 * position, so what is asked of all ranks is asked of each position. For one thread.
 */
final class Positions {

    private final long leaveNanos;
    private final Position[] known;
    private final boolean[] gone;
    private final Map<Position, Integer> ranksAt = new HashMap<>(); // also of those that are gone
    private final Map<Position, Integer> hereAt = new HashMap<>();
    private final Map<Integer, Long> leavingSince = new LinkedHashMap<>(); // the longest first
    private final List<Integer> unchecked = new ArrayList<>(); // of these, those that came since the last check
    private LastEntered checked = LastEntered.NOTHING; // what all had reached then
    private Position asked = Position.START;

    /**
     * Positions of ranks that have entered nothing.
     *
     * @param leaveNanos how long a rank waits at most
     */
    Positions(int size, long leaveNanos) {
        this.leaveNanos = leaveNanos;
        this.known = new Position[size];
        this.gone = new boolean[size];
        Arrays.fill(known, Position.START);
        ranksAt.put(Position.START, size);
        hereAt.put(Position.START, size);
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
        if (position == known[rank] || position.equals(known[rank])) {
            return 0;
        }
        move(ranksAt, known[rank], position);
        if (!gone[rank]) {
            move(hereAt, known[rank], position);
        }
        known[rank] = position;
        for (Position other : ranksAt.keySet()) {
            long difference = position.differenceFrom(other);
            if (difference != 0) {
                return difference;
            }
        }
        return 0;
    }

    private static void move(Map<Position, Integer> counts, Position from, Position to) {
        remove(counts, from);
        counts.merge(to, 1, Integer::sum);
    }

    private static void remove(Map<Position, Integer> counts, Position from) {
        counts.computeIfPresent(from, (position, ranks) -> ranks == 1 ? null : ranks - 1);
    }

    /** A rank has left or failed: nobody waits for it. */
    void gone(int rank) {
        if (!gone[rank]) {
            gone[rank] = true;
            remove(hereAt, known[rank]);
        }
    }

    /**
     * A rank asks to leave.
     *
     * @return the ranks to ask how far they are
     */
    List<Integer> leave(int rank, long now) {
        if (leavingSince.putIfAbsent(rank, now) == null) {
            unchecked.add(rank);
        }
        Position position = known[rank];
        if (asked.hasReached(position)) {
            return List.of();
        }
        asked = position;
        return IntStream.range(0, known.length)
                .filter(other -> !gone[other])
                .filter(other -> !leavingSince.containsKey(other) && !known[other].hasReached(position))
                .boxed()
                .toList();
    }

    boolean isAnyLeaving() {
        return !leavingSince.isEmpty();
    }

    boolean isLeaving(int rank) {
        return leavingSince.containsKey(rank);
    }

    /** Takes the ranks that may leave now: those that all others have reached, and those that have waited. */
    List<Integer> takeLeavers(long now, boolean all) {
        if (leavingSince.isEmpty()) {
            return List.of();
        }
        LastEntered slowest = hereAt.keySet().stream()
                .map(Position::lastEntered)
                .reduce(new LastEntered(Long.MAX_VALUE, Long.MAX_VALUE), LastEntered::min);
        // Those that were checked before wait for the same as then.
        Collection<Integer> candidates =
                all || next(now) <= 0 || !slowest.equals(checked) ? leavingSince.keySet() : unchecked;
        List<Integer> leavers = candidates.stream()
                .filter(rank -> all
                        || now - leavingSince.get(rank) >= leaveNanos
                        || slowest.hasReached(known[rank].lastEntered()))
                .sorted()
                .toList();
        checked = slowest;
        unchecked.clear();
        leavers.forEach(leavingSince::remove);
        return leavers;
    }

    /** In how many nanoseconds a rank has waited long enough. */
    long next(long now) {
        return leavingSince.isEmpty()
                ? Long.MAX_VALUE
                : leavingSince.values().iterator().next() + leaveNanos - now;
    }
}
