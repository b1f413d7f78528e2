package io.jccl;

import java.util.Locale;

/**
 * The pattern in which data travels between ranks. The order of the constants is part of the native interface. JCCL
 * chooses an algorithm for each operation from its cost model; {@link CommunicatorConfig.Builder#algorithm} forces one.
 */
public enum Algorithm {
    /**
     * Every rank sends to its neighbour in a ring: highest bandwidth; the number of steps grows with the number of
     * ranks.
     */
    RING,
    /** Two complementary binary trees: the number of steps grows with the logarithm of the number of ranks. */
    TREE,
    /** Every rank reads the data of every other rank, in one step. Only between ranks that share memory. */
    DIRECT,
    /**
     * The switch between GPUs reduces and multicasts (NVLink SHARP). Only on one host, from compute capability 9.0 on.
     */
    NVLS,
    /**
     * The network between hosts reduces (CollNet), through a plug-in. Each rank of a host sends to the host's leader;
     * ranks on GPUs form a tree below the leader.
     */
    COLLNET_DIRECT,
    /** Like {@link #COLLNET_DIRECT}, but the ranks of a host form a chain. */
    COLLNET_CHAIN;

    /** Returns the name that the command and messages use, for example {@code ring}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * Returns the algorithm with a name as the command spells it.
     *
     * @param label for example {@code ring}
     * @throws IllegalArgumentException if no algorithm has this name
     */
    public static Algorithm parse(String label) {
        return Names.parse(Algorithm.class, "algorithm", label);
    }
}
