package io.jccl.nativelib;

import java.nio.channels.SocketChannel;

/** Sets options of TCP connections that Java does not offer. */
public final class NativeSockets {

    private NativeSockets() {}

    /**
     * Limits the pause between retransmissions to a second. While a peer does not answer, the kernel otherwise doubles
     * the pause up to two minutes, and so may notice two minutes late that the network is back. The kernel then does
     * not end the connection, however often it retransmits: heartbeats decide whether the peer lives.
     *
     * @param channel a channel that no other thread closes during this call
     * @return false if the kernel cannot do this (before Linux 6.15), or the native library cannot be loaded
     */
    public static boolean boundRepetitions(SocketChannel channel) {
        try {
            NativeLoader.load();
        } catch (NativeLoadException noLibrary) {
            return false; // code that needs the library reports the failure
        }
        return bound(channel);
    }

    /**
     * Returns why this process cannot encrypt data connections, for which native code needs OpenSSL's libcrypto; empty
     * if it can.
     *
     * @throws NativeLoadException if JCCL's own library cannot be loaded
     */
    public static String encryptionObstacle() {
        NativeLoader.load();
        String obstacle = cryptoObstacle();
        return obstacle == null ? "native code is out of memory" : obstacle;
    }

    private static native boolean bound(SocketChannel channel);

    private static native String cryptoObstacle();
}
