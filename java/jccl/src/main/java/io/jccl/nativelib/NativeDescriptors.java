package io.jccl.nativelib;

/** File descriptors that processes of one host and user exchange. {@link #lastError} is the calling thread's. */
final class NativeDescriptors {

    private NativeDescriptors() {}

    /** Takes a descriptor and offers it until {@link #withdraw}: a handle, or 0. */
    static native long offer(int descriptor);

    /** What another process needs for {@link #fetch}; null on failure. */
    static native byte[] wire(long offer);

    /** Ends the offer, and closes the descriptor. */
    static native void withdraw(long offer);

    /** A descriptor of what another process offers, which the caller closes, or a code below 0. */
    static native int fetch(byte[] wire);

    /** Why this thread's last call failed. */
    static native String lastError();
}
