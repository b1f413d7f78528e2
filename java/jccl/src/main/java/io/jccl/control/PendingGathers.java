package io.jccl.control;

import io.jccl.wire.WireException;
import java.util.HashMap;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * The gathers in progress at the {@link CompleteGroup}, with the parts that ranks have sent so far. For use by one
 * thread.
 */
final class PendingGathers {

    /**
     * The maximum number of open gathers. If all ranks call gathers in the same order, fewer are open, because a rank
     * waits for one gather before it calls the next.
     */
    private static final int MAX_OPEN = 4;

    private final int size;
    private final Map<Long, byte[][]> open = new HashMap<>();
    private final Map<Long, Integer> counts = new HashMap<>();

    PendingGathers(int size) {
        this.size = size;
    }

    /**
     * Adds a rank's part.
     *
     * @return the parts of all ranks if this was the last one, else null
     */
    byte[][] add(int rank, long number, byte[] part) {
        if (!open.containsKey(number) && open.size() >= MAX_OPEN) {
            throw new WireException("gather=" + number + " rank=" + rank + ": more than " + MAX_OPEN + " are open");
        }
        byte[][] parts = open.computeIfAbsent(number, n -> new byte[size][]);
        if (parts[rank] != null) {
            throw new WireException("gather=" + number + " rank=" + rank + ": this rank has already sent its part");
        }
        parts[rank] = part;
        if (counts.merge(number, 1, Integer::sum) < size) {
            return null;
        }
        open.remove(number);
        counts.remove(number);
        return parts;
    }

    /** Returns the ranks that have not sent their part; empty if the gather is complete or has not begun. */
    SortedSet<Integer> missing(long number) {
        SortedSet<Integer> missing = new TreeSet<>();
        byte[][] parts = open.get(number);
        for (int rank = 0; parts != null && rank < size; rank++) {
            if (parts[rank] == null) {
                missing.add(rank);
            }
        }
        return missing;
    }

    /** Returns the ranks for which any open gather waits. */
    SortedSet<Integer> awaited() {
        SortedSet<Integer> awaited = new TreeSet<>();
        open.keySet().forEach(number -> awaited.addAll(missing(number)));
        return awaited;
    }
}
