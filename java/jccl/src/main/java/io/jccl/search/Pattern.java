package io.jccl.search;

/** The shape of a channel on one host. A tree over several hosts is a chain on each host. */
public enum Pattern {
    /** A ring through all ranks of the host, then back to the first or on to the next host. */
    RING,
    /** A chain whose first rank exchanges data with all neighbouring hosts. */
    TREE,
    /**
     * A chain whose first rank exchanges data with the host above. The second rank exchanges data with the hosts below.
     */
    SPLIT_TREE,
    /** A chain whose first rank exchanges data with the host above. The first two ranks share the hosts below. */
    BALANCED_TREE
}
