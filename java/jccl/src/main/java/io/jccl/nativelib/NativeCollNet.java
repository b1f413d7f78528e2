package io.jccl.nativelib;

/**
 * Natives for a network that reduces (CollNet), of a communicator whose handle {@link NativeEngine} passes. Those that return an
 * array return null on failure, and {@link NativeCommunicator#lastError} says why.
 */
final class NativeCollNet {

    /** Longs that {@link #common} returns: how many groups there can be, 1 if it gathers, megabits a second, nanoseconds. */
    static final int COMMON_LENGTH = 4;

    private NativeCollNet() {}

    /** Opens the plug-in of a name; what this rank offers, for {@link #common}. */
    static native byte[] offer(long comm, String plugin);

    /** What all ranks have in common, of their offers by rank. */
    static native long[] common(long comm, byte[][] offers);

    /** The handle by which others connect to this rank in a group. */
    static native byte[] listen(long comm, int group);

    /**
     * Makes a group that this rank is in; its members call it at the same time.
     *
     * @param handles of all members
     * @param member this rank's place among them
     * @param timeoutNanos after which it fails
     * @return {@link NativeCommunicator#OK} or a code below
     */
    static native int connect(long comm, int group, byte[][] handles, int member, long timeoutNanos);

    /**
     * The network reduces from now on; on all ranks, after {@link NativeCommunicator#setHosts}.
     *
     * @param leaders the leader of each host, group by group
     * @param groups how many
     * @param offers by rank
     * @return {@link NativeCommunicator#OK} or a code below
     */
    static native int use(long comm, int[] leaders, int groups, byte[][] offers);

    /**
     * The network reduces for kernels of a GPU, instead of {@link #use}; before {@link NativeCommunicator#startStaging}.
     *
     * @param groups how many
     * @param offers by rank
     * @param ranksOfHost how many ranks each host has, with numbers that follow each other; 0: the network neither gathers nor scatters
     * @return the address of what all have in common, good as long as the communicator; then, by group, the block and the head of the
     *     connection to the network and of that from it, or zeros where another rank leads
     */
    static native long[] stage(long comm, int groups, byte[][] offers, int ranksOfHost);

    /** It does not; closes what there is of it. */
    static native void drop(long comm);
}
