package io.jccl;

import java.util.Locale;

/**
 * The shape in which data travels between the ranks. The order of the constants is part of the native interface.
 * Left to itself, JCCL chooses per operation from its cost model; {@link CommunicatorConfig.Builder#algorithm} forces one.
 */
public enum Algorithm {
    /** Every rank talks to its two neighbours: the most bandwidth, the number of steps grows with the ranks. */
    RING,
    /** Two complementary binary trees: the number of steps grows with the logarithm of the ranks. */
    TREE,
    /** Every rank reads every other rank's data: one step; only where ranks share memory. */
    DIRECT,
    /** The switch between GPUs reduces and multicasts (NVLink SHARP): on one host, compute capability 9.0 or later. */
    NVLS,
    /**
     * The network between hosts reduces (CollNet), by a plug-in for it. The ranks of a host send to a leader each; those on GPUs
     * form a tree.
     */
    COLLNET_DIRECT,
    /** The same where the ranks of a host form a chain. */
    COLLNET_CHAIN;

    /** The name used by the command and in messages, for example {@code ring}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * The algorithm of a name as the command spells it.
     *
     * @param label for example {@code ring}
     * @throws IllegalArgumentException if no algorithm has this name
     */
    public static Algorithm parse(String label) {
        return Names.parse(Algorithm.class, "algorithm", label);
    }
}
