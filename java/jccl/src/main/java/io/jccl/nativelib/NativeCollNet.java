package io.jccl.nativelib;

import java.lang.annotation.Native;

/**
 * Natives of {@link NativeEngine} for a network that reduces (CollNet). Natives that return an array return null on
 * failure, and {@link NativeEngine#callError} returns the reason.
 */
final class NativeCollNet {

    // Places in the row that common() returns.

    /** Maximum count of groups that can use the network. */
    @Native
    static final int COMMON_GROUPS = 0;

    /** 1 if the network also gathers and scatters. */
    @Native
    static final int COMMON_GATHERS = 1;

    /** Speed in Mb/s; 0 if unknown. */
    @Native
    static final int COMMON_MEGABITS = 2;

    /** Latency in nanoseconds; 0 if unknown. */
    @Native
    static final int COMMON_LATENCY_NANOS = 3;

    @Native
    static final int COMMON_LENGTH = 4;

    private NativeCollNet() {}

    /** Opens a plug-in by its name; returns this rank's offer for {@link #common}. */
    static native byte[] offer(long comm, String plugin);

    /** Returns what the offers of all ranks, in rank order, have in common. */
    static native long[] common(long comm, byte[][] offers);

    /** Returns the handle by which others connect to this rank in a group. */
    static native byte[] listen(long comm, int group);

    /**
     * Makes a group of which this rank is a member; all members call this at the same time.
     *
     * @param handles of all members
     * @param member this rank's place among the members
     * @param timeoutNanos time after which the call fails
     * @return a {@link Code}
     */
    static native int connect(long comm, int group, byte[][] handles, int member, long timeoutNanos);

    /**
     * Lets the network reduce from now on. All ranks call this, after {@link NativeEngine#setHosts}.
     *
     * @param leaders the leader of each host, group by group
     * @param groups count of the groups
     * @param offers of all ranks, in rank order
     * @return a {@link Code}
     */
    static native int use(long comm, int[] leaders, int groups, byte[][] offers);

    /**
     * Lets the network reduce for kernels of a GPU, instead of {@link #use}. Must precede
     * {@link NativeEngine#startStaging}.
     *
     * @param groups count of the groups
     * @param offers of all ranks, in rank order
     * @param ranksOfHost count of ranks of each host if it is the same on all hosts and the ranks of a host have
     *     consecutive numbers; else 0, and the network neither gathers nor scatters
     * @return the address of the common part of all offers, valid while the engine exists; then four addresses for each
     *     group: the memory block and the head of the connection to the network, then those of the connection from the
     *     network; zeros if another rank leads the group
     */
    static native long[] stage(long comm, int groups, byte[][] offers, int ranksOfHost);

    /** Stops using the network, and closes it. */
    static native void drop(long comm);
}
