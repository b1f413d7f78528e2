package io.jccl.bootstrap;

import io.jccl.JcclException;
import io.jccl.device.HostIdentity;
import io.jccl.internal.LocatedAddress;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketAddress;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * The network stack of this process: its kernel's, in its network namespace; and what a refused connection proves of a
 * server. A refusal in the server's own stack is proof that nobody listens. By an address that is this stack's, and not where the
 * server is, it proves nothing: both have such an address. By an address elsewhere it can also be that of a firewall, or of a
 * third host.
 */
public final class NetworkStack {

    private static volatile long own; // UNKNOWN until it has been read

    private NetworkStack() {}

    private static long identity() {
        byte[] names = (HostIdentity.host() + " " + HostIdentity.networkNamespace()).getBytes(StandardCharsets.UTF_8);
        long id = ByteBuffer.wrap(Handshake.derive(names, "network stack")).getLong();
        return id == LocatedAddress.UNKNOWN ? 1 : id;
    }

    /**
     * Distinguishes the network stack of this process from others; never {@link LocatedAddress#UNKNOWN}. Read at the first call,
     * because an exception of a static initialiser would reach later callers without its text.
     *
     * @throws JcclException if this process has no descriptor left to read it
     */
    static long own() {
        if (own == LocatedAddress.UNKNOWN) {
            own = identity();
        }
        return own;
    }

    /** The evidence that a failed attempt to connect gives about the server. */
    enum Evidence {
        /** Nothing. */
        NONE,
        /** Nobody listens at an address of the server, unless a firewall or another host with that address has answered. */
        HINT,
        /** Nobody listens. */
        PROOF
    }

    /** Returns how far a failed attempt proves that the process that listened at an address has ended. */
    static Evidence evidence(SocketAddress address, Throwable failure) {
        if (!(failure instanceof ConnectException)) {
            return Evidence.NONE;
        }
        if (!(address instanceof InetSocketAddress inet)) {
            return Evidence.PROOF; // a socket in the file system
        }
        long stack = LocatedAddress.stackOf(inet);
        boolean isHere = stack == own() || stack == LocatedAddress.UNKNOWN && isLoopback(inet);
        if (isHere) {
            return Evidence.PROOF;
        }
        return isOwn(inet.getAddress()) ? Evidence.NONE : Evidence.HINT;
    }

    /** Returns true if a failed attempt says, with or without proof, that the process that listened at an address has ended. */
    public static boolean indicatesEnd(SocketAddress address, Throwable failure) {
        return evidence(address, failure) != Evidence.NONE;
    }

    /** Returns true if what an address answers may say something of the server: it is not one that this stack has too. */
    public static boolean leadsThere(SocketAddress address) {
        return evidence(address, new ConnectException()) != Evidence.NONE;
    }

    private static boolean isLoopback(InetSocketAddress address) {
        return address.getAddress().isLoopbackAddress();
    }

    private static boolean isOwn(InetAddress address) {
        try {
            return address.isLoopbackAddress() || NetworkInterface.getByInetAddress(address) != null;
        } catch (SocketException e) {
            return true; // it is not known
        }
    }
}
