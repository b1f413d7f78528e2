package io.jccl.bootstrap;

import java.util.Collection;
import java.util.Iterator;
import java.util.StringJoiner;
import java.util.TreeSet;

/** Ranks in words, short however many they are. */
public final class RankList {

    private static final int MOST_PARTS = 32;

    private RankList() {}

    /** For example {@code {3,7,10-500}}; from the 33rd part on {@code and 80 more}. */
    public static String text(Collection<Integer> ranks) {
        TreeSet<Integer> left = new TreeSet<>(ranks);
        StringJoiner text = new StringJoiner(",", "{", "}");
        for (int parts = 0; !left.isEmpty(); parts++) {
            if (parts == MOST_PARTS) {
                return text + " and " + left.size() + " more";
            }
            int first = left.first();
            int last = endOfRun(left);
            // Two in a row are no run: {2,3} is what people write.
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

    private static int endOfRun(TreeSet<Integer> ranks) {
        Iterator<Integer> each = ranks.iterator();
        int last = each.next();
        while (each.hasNext() && each.next() == last + 1) {
            last++;
        }
        return last;
    }
}
