package io.jccl.bootstrap;

import java.util.HashMap;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;

/** The gathers in progress at the {@link CoordinatorServer}: which rank has given what. For one thread. */
final class PendingGathers {

    /** More than the number that can be open when all ranks keep the order: a rank waits for one before the next. */
    private static final int MAX_OPEN = 4;

    private final int size;
    private final Map<Long, byte[][]> open = new HashMap<>();
    private final Map<Long, Integer> counts = new HashMap<>();

    PendingGathers(int size) {
        this.size = size;
    }

    /**
     * Takes a rank's part.
     *
     * @return the parts of all ranks if this was the last one, else null
     */
    byte[][] add(int rank, long number, byte[] part) {
        if (!open.containsKey(number) && open.size() >= MAX_OPEN) {
            throw new WireException("gather=" + number + " rank=" + rank + ": more than " + MAX_OPEN + " are open");
        }
        byte[][] parts = open.computeIfAbsent(number, n -> new byte[size][]);
        if (parts[rank] != null) {
            throw new WireException("gather=" + number + " rank=" + rank + ": came twice");
        }
        parts[rank] = part;
        if (counts.merge(number, 1, Integer::sum) < size) {
            return null;
        }
        open.remove(number);
        counts.remove(number);
        return parts;
    }

    /** The ranks that have not given their part; empty if the gather is done or has not begun. */
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

    /** The ranks that any open gather waits for. */
    SortedSet<Integer> awaited() {
        SortedSet<Integer> awaited = new TreeSet<>();
        open.keySet().forEach(number -> awaited.addAll(missing(number)));
        return awaited;
    }
}
