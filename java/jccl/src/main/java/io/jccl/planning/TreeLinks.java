package io.jccl.planning;

import io.jccl.search.GraphSummary;
import java.util.List;

/**
 * The neighbours of one rank in the tree of one channel.
 *
 * @param up the parent rank, or -1 at the root
 * @param down the child ranks, at most {@value GraphSummary#MAX_TREE_CHILDREN}
 */
public record TreeLinks(int up, List<Integer> down) {

    public TreeLinks {
        down = List.copyOf(down);
        if (up < -1) {
            throw new IllegalArgumentException("up=" + up + ": expected a rank, or -1 at the root");
        }
        if (down.size() > GraphSummary.MAX_TREE_CHILDREN) {
            throw new IllegalArgumentException(
                    "down=" + down + ": expected at most " + GraphSummary.MAX_TREE_CHILDREN + " children");
        }
    }

    /** Returns true if this rank is the root of the tree. */
    public boolean isRoot() {
        return up < 0;
    }

    /** Returns true if this rank is a leaf. */
    public boolean isLeaf() {
        return down.isEmpty();
    }

    /** Returns the children as an array, which the native library expects. */
    public int[] downRanks() {
        int[] ranks = new int[down.size()];
        for (int i = 0; i < ranks.length; i++) {
            ranks[i] = down.get(i);
        }
        return ranks;
    }
}
