package io.jccl.plan;

/**
 * Two binary trees over the same members, built so that a member that has children in one is a leaf in the other.
 *
 * <p>An all-reduce that sends half of its data through each tree therefore loads every member's links evenly, while the
 * depth stays logarithmic.
 *
 * <pre>
 * first tree of 8:            0
 *                             4            the parent of r is found from its lowest set bit b: move that bit one up,
 *                           /   \          and where this leaves the range, clear it instead; odd members are leaves
 *                          2     6
 *                         / \   / \
 *                        1   3 5   7
 *
 * second tree:  the first one mirrored (r to n-1-r) for an even number of members,
 *               the first one shifted (r to r+1 mod n) for an odd number
 * </pre>
 *
 * <p>Both ways of making the second tree turn the odd members, which are leaves, into the inner members and back, with
 * the exception of one member when the number is odd.
 */
public final class DoubleBinaryTree {

    /** What stands for "no such member". */
    public static final int NONE = -1;

    private final int size;

    /** A pair of trees over {@code size} members, numbered from 0; at least one. */
    public DoubleBinaryTree(int size) {
        if (size < 1) {
            throw new IllegalArgumentException("size=" + size + ": a tree has at least one member");
        }
        this.size = size;
    }

    /** How many members the trees have. */
    public int size() {
        return size;
    }

    /** The parent of {@code member} in tree 0 or 1, or {@link #NONE} at the root. */
    public int parent(int tree, int member) {
        return fromFirst(tree, parentInFirst(toFirst(tree, member)));
    }

    /**
     * A child of {@code member} in tree 0 or 1, or {@link #NONE}.
     *
     * @param which 0 for the first child, 1 for the second
     */
    public int child(int tree, int member, int which) {
        if (which < 0 || which > 1) {
            throw new IllegalArgumentException("which=" + which + ": a member has children 0 and 1");
        }
        return fromFirst(tree, childInFirst(toFirst(tree, member), which));
    }

    /** The root of tree 0 or 1. */
    public int root(int tree) {
        return fromFirst(tree, 0);
    }

    /**
     * Which child of its parent {@code member} is.
     *
     * @return 0 or 1, or {@link #NONE} at the root
     */
    public int position(int tree, int member) {
        int parent = parent(tree, member);
        if (parent == NONE) {
            return NONE;
        }
        return child(tree, parent, 0) == member ? 0 : 1;
    }

    /** The number of edges between {@code member} and the root of the tree. */
    public int depth(int tree, int member) {
        int depth = 0;
        for (int at = parent(tree, member); at != NONE; at = parent(tree, at)) {
            depth++;
        }
        return depth;
    }

    private int parentInFirst(int member) {
        if (member == 0) {
            return NONE;
        }
        int bit = Integer.lowestOneBit(member);
        long up = (member - bit) | ((long) bit << 1);
        return up < size ? (int) up : member - bit;
    }

    private int childInFirst(int member, int which) {
        if (member == 0) {
            return which == 0 && size > 1 ? Integer.highestOneBit(size - 1) : NONE;
        }
        int half = Integer.lowestOneBit(member) >> 1;
        if (half == 0) {
            return NONE;
        }
        if (which == 0) {
            return member - half;
        }
        // The members above this one hang below the largest power of two that still lands in the range.
        while (half > 0 && member + half >= size) {
            half >>= 1;
        }
        return half == 0 ? NONE : member + half;
    }

    private int toFirst(int tree, int member) {
        if (member < 0 || member >= size) {
            throw new IndexOutOfBoundsException("member=" + member + ": the tree has members 0 to " + (size - 1));
        }
        return switch (tree) {
            case 0 -> member;
            case 1 -> size % 2 == 0 ? size - 1 - member : (member + size - 1) % size;
            default -> throw new IllegalArgumentException("tree=" + tree + ": there are trees 0 and 1");
        };
    }

    private int fromFirst(int tree, int member) {
        if (member == NONE || tree == 0) {
            return member;
        }
        return size % 2 == 0 ? size - 1 - member : (member + 1) % size;
    }
}
