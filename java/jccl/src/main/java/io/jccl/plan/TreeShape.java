package io.jccl.plan;

/**
 * Where on a machine the edges between machines are attached. Inside a machine every tree is a chain in the order that
 * the search found; the shapes differ in which members of that chain talk to other machines.
 */
public enum TreeShape {
    /** The first rank of the chain talks to the parent machine and to both child machines. */
    CHAIN(0, 0),
    /** The first rank talks to the parent machine, the second one to both child machines. */
    SPLIT(1, 1),
    /** The first rank talks to the parent machine and the first child machine, the second rank to the second one. */
    BALANCED(0, 1);

    private final int firstChildAt;
    private final int secondChildAt;

    TreeShape(int firstChildAt, int secondChildAt) {
        this.firstChildAt = firstChildAt;
        this.secondChildAt = secondChildAt;
    }

    /**
     * The place in the chain that talks to a child machine.
     *
     * @param child 0 or 1
     * @param ranks ranks on this machine; the place never lies beyond the chain
     */
    int childPlace(int child, int ranks) {
        return Math.min(child == 0 ? firstChildAt : secondChildAt, ranks - 1);
    }
}
