package io.jccl.nativelib;

/** What the native library says about itself. */
final class NativeLibrary {

    private NativeLibrary() {}

    /** The digest of the sources that the library was built from. */
    static native String buildId();
}
