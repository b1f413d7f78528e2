package io.jccl.nativelib;

/** What the native library says about itself. */
public final class NativeLibrary {

    private NativeLibrary() {}

    /** The digest of the sources that the library was built from. */
    static native String buildId();

    /**
     * The instruction set that reductions use on this processor: {@code portable}, {@code avx2} or {@code avx512}. Call
     * {@link NativeLoader#load()} first.
     */
    public static native String instructionSet();
}
