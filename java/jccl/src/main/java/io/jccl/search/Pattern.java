package io.jccl.search;

/** The shape of a channel on one machine. */
public enum Pattern {
    /** Through all ranks and back to the first. */
    RING,
    /** A chain; the first rank talks to all neighbouring machines. */
    TREE,
    /** A chain; the second rank talks to the machines below. */
    SPLIT_TREE,
    /** A chain; the first two ranks share the machines below. */
    BALANCED_TREE
}
