package io.jccl.wire;

import java.math.BigDecimal;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.StringJoiner;
import java.util.TreeSet;

/** Writes sets of ranks as text that stays short for any number of ranks. */
public final class RankList {

    private static final int MAX_PARTS = 32;

    private RankList() {}

    /** Returns for example {@code {3,7,10-500}}; after 32 parts, {@code and 80 more} replaces the rest. */
    public static String text(Collection<Integer> ranks) {
        TreeSet<Integer> left = new TreeSet<>(ranks);
        StringJoiner text = new StringJoiner(",", "{", "}");
        for (int parts = 0; !left.isEmpty(); parts++) {
            if (parts == MAX_PARTS) {
                return text + " and " + left.size() + " more";
            }
            int first = left.first();
            int last = endOfRun(left);
            // Two successive ranks are not written as a range: {2,3} reads better than {2-3}.
            if (last - first >= 2) {
                text.add(first + "-" + last);
                left.headSet(last, true).clear();
            } else {
                text.add(Integer.toString(first));
                left.remove(first);
            }
        }
        return text.toString();
    }

    /**
     * Returns ranks as the subject of a sentence: {@code rank 1}, {@code ranks 0 and 2}, {@code ranks {3,7,10-500}}.
     */
    public static String subject(Collection<Integer> ranks) {
        List<Integer> sorted = List.copyOf(new TreeSet<>(ranks));
        return switch (sorted.size()) {
            case 1 -> "rank " + sorted.get(0);
            case 2 -> "ranks " + sorted.get(0) + " and " + sorted.get(1);
            default -> "ranks " + text(ranks);
        };
    }

    /**
     * Returns a text that names missing ranks: {@code rank 1 did not join all_reduce(…) within 5 s (2 of 3 arrived)}.
     * If {@code time} is empty, the text says {@code in time} instead.
     */
    public static String late(Collection<Integer> ranks, int size, String what, String time) {
        return subject(ranks) + " did not join" + (what.isEmpty() ? "" : " " + what)
                + (time.isEmpty() ? " in time" : " within " + time) + " (" + (size - ranks.size()) + " of " + size
                + " arrived)";
    }

    /** Returns a time as text, for example {@code 5 s}, {@code 1.5 s} or {@code 250 ms}. */
    public static String duration(long millis) {
        return millis < 1000
                ? millis + " ms"
                : BigDecimal.valueOf(Math.round(millis / 100.0), 1)
                                .stripTrailingZeros()
                                .toPlainString() + " s";
    }

    private static int endOfRun(TreeSet<Integer> ranks) {
        Iterator<Integer> each = ranks.iterator();
        int last = each.next();
        while (each.hasNext() && each.next() == last + 1) {
            last++;
        }
        return last;
    }
}
