package io.jccl.nativelib;

import java.nio.channels.SocketChannel;

/** Options of TCP connections that Java does not know. */
public final class NativeSockets {

    private NativeSockets() {}

    /**
     * Bounds the pause between repetitions to a peer that does not answer by a second. The kernel doubles it up to two
     * minutes otherwise, and so notices only after as long again that a network is back. It does not end the connection,
     * however often it repeats: heartbeats decide.
     *
     * @param channel not closed by another thread meanwhile
     * @return false where the kernel cannot (before Linux 6.15), or the native library cannot be loaded
     */
    public static boolean boundRepetitions(SocketChannel channel) {
        try {
            NativeLoader.load();
        } catch (NativeLoadException noLibrary) {
            return false; // who needs the library says so
        }
        return bound(channel);
    }

    private static native boolean bound(SocketChannel channel);
}
