package io.jccl.lightgbm;

/** Native methods of {@code native/lightgbm/network.cc}. Addresses are in LightGBM's memory; sizes are in bytes. */
final class NativeNetwork {

    private NativeNetwork() {}

    /**
     * Makes LightGBM call {@code operations} for its communication on this thread.
     *
     * @param lengths array that is filled before each call with the size of each rank's block
     * @return false if this thread already has operations
     */
    static native boolean open(LightGbmOperations operations, long[] lengths, int rank);

    /** Ends the effect of {@link #open}, which must have been called on this thread. */
    static native void close();

    /** Returns the address of the function that LightGBM calls to reduce and scatter. */
    static native long reduceScatterFunction();

    /** Returns the address of the function that LightGBM calls to gather. */
    static native long allGatherFunction();

    /** Returns true if a reducer of LightGBM for elements of 8 bytes adds doubles. */
    static native boolean addsDoubles(long reducer);

    /**
     * Applies a reducer of LightGBM to blocks.
     *
     * @param blocks address of each block
     * @param steps pairs of indices: the block that accumulates, then the block that is added to it
     * @param bytes size of each block
     */
    static native void fold(long reducer, int typeBytes, long[] blocks, int[] steps, long bytes);

    /** Copies bytes; the ranges may overlap. */
    static native void move(long from, long to, long bytes);
}
