package io.jccl.lightgbm;

/** Natives of {@code native/lightgbm/network.cc}. Addresses and sizes in bytes are those of LightGBM's memory. */
final class NativeNetwork {

    private NativeNetwork() {}

    /**
     * Has LightGBM's calls on this thread passed to operations.
     *
     * @param lengths written before each call: the bytes of each rank's block
     * @return false if this thread has some already
     */
    static native boolean open(LightGbmOperations operations, long[] lengths, int rank);

    /** Forgets the operations of this thread, which has some. */
    static native void close();

    /** The address of the function that LightGBM calls to reduce and scatter. */
    static native long reduceScatterFunction();

    /** The address of the function that LightGBM calls to gather. */
    static native long allGatherFunction();

    /** Whether a reducer of LightGBM's for elements of 8 bytes is the addition of doubles. */
    static native boolean addsDoubles(long reducer);

    /**
     * Applies a reducer of LightGBM's to blocks.
     *
     * @param blocks the address of each block
     * @param steps pairs of a block that is accumulated into and the block that is read
     * @param bytes of each block
     */
    static native void fold(long reducer, int typeBytes, long[] blocks, int[] steps, long bytes);

    /** Copies bytes; the ranges may overlap. */
    static native void move(long from, long to, long bytes);
}
