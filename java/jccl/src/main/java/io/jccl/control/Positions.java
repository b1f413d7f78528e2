package io.jccl.control;

import io.jccl.wire.LastEntered;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * The last known position of each rank, and the ranks that wait to leave. A rank that has sent its FIN may leave when
 * all others have entered the same operations, so that its calls have been compared, or after a time limit. Most ranks
 * are at the same position, so this class answers questions about all ranks by checking each distinct position. For use
 * by one thread.
 */
final class Positions {

    private final long leaveNanos;
    private final Position[] known;
    private final boolean[] gone;
    // by position: number of ranks at it, including those that are gone
    private final Map<Position, Integer> ranksAt = new HashMap<>();
    private final Map<Position, Integer> hereAt = new HashMap<>(); // likewise, without ranks that are gone
    private final Map<Integer, Long> leavingSince = new LinkedHashMap<>(); // longest wait first
    private final List<Integer> unchecked = new ArrayList<>(); // ranks that have asked to leave since the last check
    private LastEntered checked = LastEntered.NOTHING; // the operations that all ranks had entered at that check
    private Position asked = Position.START;
    private long enteredByAllOnDevice;

    /**
     * Creates the positions of ranks that have entered nothing.
     *
     * @param leaveNanos the maximum time that a rank waits to leave
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
     * Notes a rank's position.
     *
     * @return an operation that this rank and another have called differently, see {@link LastEntered}; 0 if none is
     *     known
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
        countEntered();
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

    /** Notes that a rank has left or failed, so that no rank waits for it. */
    void gone(int rank) {
        if (!gone[rank]) {
            gone[rank] = true;
            remove(hereAt, known[rank]);
            countEntered();
        }
    }

    /**
     * Notes that a rank asks to leave.
     *
     * @return the ranks that must be asked for their positions
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

    /**
     * Returns the number of the last collective on a device that all ranks that are here have entered. Allocates
     * nothing, because each heartbeat of the coordinator contains the number.
     */
    long enteredByAllOnDevice() {
        return enteredByAllOnDevice;
    }

    private void countEntered() {
        long least = Long.MAX_VALUE;
        for (Position position : hereAt.keySet()) {
            least = Math.min(least, position.lastEntered().device());
        }
        enteredByAllOnDevice = least == Long.MAX_VALUE ? 0 : least;
    }

    boolean isAnyLeaving() {
        return !leavingSince.isEmpty();
    }

    boolean isLeaving(int rank) {
        return leavingSince.containsKey(rank);
    }

    /**
     * Removes and returns the leaving ranks that may leave now. A rank may leave if every other rank has entered the
     * rank's operations, or if the rank's time limit has passed. If {@code all} is true, all leaving ranks may leave.
     */
    List<Integer> takeLeavers(long now, boolean all) {
        if (leavingSince.isEmpty()) {
            return List.of();
        }
        LastEntered slowest = hereAt.keySet().stream()
                .map(Position::lastEntered)
                .reduce(new LastEntered(Long.MAX_VALUE, Long.MAX_VALUE), LastEntered::min);
        // If the slowest rank has not moved since the last check, the ranks of that check still wait, so only ranks
        // that asked to leave since are checked.
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

    /**
     * Returns the nanoseconds until the time limit of a leaving rank passes; {@link Long#MAX_VALUE} if no rank is
     * leaving.
     */
    long next(long now) {
        return leavingSince.isEmpty()
                ? Long.MAX_VALUE
                : leavingSince.values().iterator().next() + leaveNanos - now;
    }
}
