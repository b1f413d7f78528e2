package io.jccl.config;

import java.util.Collection;
import java.util.Comparator;
import java.util.Optional;

/** Finds the known name that is nearest to a misspelt one. */
public final class NearestName {

    private NearestName() {}

    /** Returns a clause for a message: the nearest name, or the command that lists all names if none is near. */
    static String suggestion(String name, Collection<String> known) {
        return nearest(name, known).map(near -> "did you mean " + near + "?").orElse("`jccl env` lists all settings");
    }

    /** Returns the known name with the fewest edits; empty if even that name differs by more than a slip. */
    public static Optional<String> nearest(String name, Collection<String> known) {
        int slip = Math.max(2, name.length() / 4);
        return known.stream()
                .filter(candidate -> edits(name, candidate) <= slip)
                .min(Comparator.comparingInt((String candidate) -> edits(name, candidate))
                        .thenComparing(Comparator.naturalOrder()));
    }

    /**
     * Returns the smallest number of insertions, deletions, replacements and swaps of neighbours that make one name the
     * other.
     */
    static int edits(String a, String b) {
        int[][] cost = new int[a.length() + 1][b.length() + 1];
        for (int i = 0; i <= a.length(); i++) {
            for (int j = 0; j <= b.length(); j++) {
                cost[i][j] = i == 0 || j == 0 ? i + j : step(cost, a, b, i, j);
            }
        }
        return cost[a.length()][b.length()];
    }

    private static int step(int[][] cost, String a, String b, int i, int j) {
        int replace = cost[i - 1][j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        int best = Math.min(replace, Math.min(cost[i - 1][j], cost[i][j - 1]) + 1);
        boolean swapped = i > 1 && j > 1 && a.charAt(i - 1) == b.charAt(j - 2) && a.charAt(i - 2) == b.charAt(j - 1);
        return swapped ? Math.min(best, cost[i - 2][j - 2] + 1) : best;
    }
}
