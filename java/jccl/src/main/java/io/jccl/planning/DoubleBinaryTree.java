package io.jccl.planning;

/**
 * Two binary trees over the same members, built so that a member that has children in one is a leaf in the other.
 *
 * <p>An all-reduce that sends half of its data through each tree therefore loads every member's links evenly, while the
 * depth stays logarithmic.
 *
 * <pre>
 * first tree of 8:            0
 *                             4            the parent of r: move the lowest set bit of r one place up; if the
 *                           /   \          result is out of range, clear the bit instead; odd members are leaves
 *                          2     6
 *                         / \   / \
 *                        1   3 5   7
 *
 * second tree:  the first one mirrored (r to n-1-r) for an even number of members,
 *               the first one shifted (r to r+1 mod n) for an odd number
 * </pre>
 *
 * <p>Both constructions of the second tree exchange leaves (the odd members) and inner members. If the number of
 * members is odd, one member is an exception.
 */
public final class DoubleBinaryTree {

    /** Value in place of a parent or child that does not exist. */
    public static final int NONE = -1;

    private final int size;

    /** Makes a pair of trees over {@code size} members, numbered from 0; at least one. */
    public DoubleBinaryTree(int size) {
        if (size < 1) {
            throw new IllegalArgumentException("size=" + size + ": a tree has at least one member");
        }
        this.size = size;
    }

    /** Returns the number of members of each tree. */
    public int size() {
        return size;
    }

    /** Returns the parent of {@code member} in tree 0 or 1, or {@link #NONE} at the root. */
    public int parent(int tree, int member) {
        return fromFirst(tree, parentInFirst(toFirst(tree, member)));
    }

    /**
     * Returns a child of {@code member} in tree 0 or 1, or {@link #NONE} if it has no such child.
     *
     * @param which 0 for the first child, 1 for the second
     */
    public int child(int tree, int member, int which) {
        if (which < 0 || which > 1) {
            throw new IllegalArgumentException("which=" + which + ": a member has children 0 and 1");
        }
        return fromFirst(tree, childInFirst(toFirst(tree, member), which));
    }

    /** Returns the root of tree 0 or 1. */
    public int root(int tree) {
        return fromFirst(tree, 0);
    }

    /**
     * Returns the number of {@code member} among the children of its parent.
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

    /** Returns the number of edges between {@code member} and the root of the tree. */
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
        // The second child is this member plus the largest power of two for which the sum is in range.
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
