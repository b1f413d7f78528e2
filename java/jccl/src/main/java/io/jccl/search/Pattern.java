package io.jccl.search;

/** The shape of a channel on one host. */
public enum Pattern {
    /** Through all ranks and back to the first. */
    RING,
    /** A chain; the first rank exchanges data with all neighbouring hosts. */
    TREE,
    /** A chain; the second rank exchanges data with the hosts below. */
    SPLIT_TREE,
    /** A chain; the first two ranks share the hosts below. */
    BALANCED_TREE
}
