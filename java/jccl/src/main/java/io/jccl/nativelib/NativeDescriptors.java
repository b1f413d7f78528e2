package io.jccl.nativelib;

/** Exchanges file descriptors between processes of one host and user. */
final class NativeDescriptors {

    private NativeDescriptors() {}

    /** Takes over a descriptor and offers it until {@link #withdraw}; returns a handle, or 0 on failure. */
    static native long offer(int descriptor);

    /** Returns the bytes that another process needs for {@link #fetch}; null on failure. */
    static native byte[] wire(long offer);

    /** Ends the offer, and closes the descriptor. */
    static native void withdraw(long offer);

    /** Returns a descriptor that another process offers, which the caller closes; or a code below 0. */
    static native int fetch(byte[] wire);

    /** Returns the reason why the calling thread's last call failed. */
    static native String lastError();
}
