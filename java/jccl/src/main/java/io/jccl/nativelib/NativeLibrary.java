package io.jccl.nativelib;

/** Facts about the native library that the library itself returns. */
public final class NativeLibrary {

    private NativeLibrary() {}

    /** Returns the digest of the sources from which the library was built. */
    static native String buildId();

    /**
     * Returns the instruction set that reductions use on this processor: {@code portable}, {@code avx2} or
     * {@code avx512}. {@link NativeLoader#load()} must be called first.
     */
    public static native String instructionSet();
}
