package io.jccl.planning;

import io.jccl.search.GraphSummary;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A tree over all ranks in flat arrays. It is built edge by edge, and only read afterwards. */
final class TreeOfRanks {

    private static final int NONE = DoubleBinaryTree.NONE;

    private final int[] up;
    private final int[] down;

    TreeOfRanks(int size) {
        up = new int[size];
        down = new int[size * GraphSummary.MAX_TREE_CHILDREN];
        Arrays.fill(up, NONE);
        Arrays.fill(down, NONE);
    }

    void connect(int parent, int child) {
        if (up[child] != NONE) {
            throw new IllegalStateException("child=" + child + " has two parents: " + up[child] + " and " + parent);
        }
        up[child] = parent;
        int base = parent * GraphSummary.MAX_TREE_CHILDREN;
        for (int i = 0; i < GraphSummary.MAX_TREE_CHILDREN; i++) {
            if (down[base + i] == NONE) {
                down[base + i] = child;
                return;
            }
        }
        throw new IllegalStateException(
                "parent=" + parent + " has more than " + GraphSummary.MAX_TREE_CHILDREN + " children");
    }

    int parent(int rank) {
        return up[rank];
    }

    TreeLinks links(int rank) {
        List<Integer> children = new ArrayList<>(GraphSummary.MAX_TREE_CHILDREN);
        int base = rank * GraphSummary.MAX_TREE_CHILDREN;
        for (int i = 0; i < GraphSummary.MAX_TREE_CHILDREN && down[base + i] != NONE; i++) {
            children.add(down[base + i]);
        }
        return new TreeLinks(up[rank], children);
    }

    /**
     * Returns the largest number of edges between the root and a rank. Walks up from each rank only to one with known
     * depth, so the time is linear in the number of ranks.
     */
    int depth() {
        int[] known = new int[up.length];
        int[] path = new int[up.length];
        Arrays.fill(known, -1);
        int deepest = 0;
        for (int rank = 0; rank < up.length; rank++) {
            int length = 0;
            int at = rank;
            while (at != NONE && known[at] < 0) {
                path[length++] = at;
                at = up[at];
            }
            int depth = at == NONE ? -1 : known[at];
            while (length > 0) {
                known[path[--length]] = ++depth;
            }
            deepest = Math.max(deepest, known[rank]);
        }
        return deepest;
    }
}
