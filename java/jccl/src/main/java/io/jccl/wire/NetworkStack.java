package io.jccl.wire;

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
 * The network stack of this process, which is its kernel's stack in its network namespace, and the evidence that a
 * refused connection gives about a server. A refusal by the server's own stack proves that nobody listens. A refusal at
 * an address that this stack has too, while the server is in another stack, proves nothing: this stack has answered
 * itself. A refusal at any other address may also come from a firewall or from a third host.
 */
public final class NetworkStack {

    private static volatile long own; // UNKNOWN until the first call of own()

    private NetworkStack() {}

    private static long identity() {
        byte[] names = (HostIdentity.host() + " " + HostIdentity.networkNamespace()).getBytes(StandardCharsets.UTF_8);
        long id = ByteBuffer.wrap(Handshake.derive(names, "network stack")).getLong();
        return id == LocatedAddress.UNKNOWN ? 1 : id;
    }

    /**
     * Returns a number that distinguishes the network stack of this process from others; never
     * {@link LocatedAddress#UNKNOWN}. Computed at the first call, because an exception of a static initialiser would
     * reach later callers without its text.
     *
     * @throws JcclException if this process has no descriptor left to read the network namespace
     */
    public static long own() {
        if (own == LocatedAddress.UNKNOWN) {
            own = identity();
        }
        return own;
    }

    /** The evidence about a server that a failed attempt to connect gives. */
    public enum Evidence {
        /** The attempt says nothing about the server. */
        NONE,
        /**
         * Nobody listens at an address of the server, unless a firewall or another host with the same address has
         * answered.
         */
        HINT,
        /** It is certain that nobody listens. */
        PROOF
    }

    /** Returns the evidence of a failed attempt that the process which listened at an address has ended. */
    public static Evidence evidence(SocketAddress address, Throwable failure) {
        if (!(failure instanceof ConnectException)) {
            return Evidence.NONE;
        }
        if (!(address instanceof InetSocketAddress inet)) {
            return Evidence.PROOF; // a socket in the file system is always on this host
        }
        long stack = LocatedAddress.stackOf(inet);
        boolean isHere = stack == own() || stack == LocatedAddress.UNKNOWN && isLoopback(inet);
        if (isHere) {
            return Evidence.PROOF;
        }
        return isOwn(inet.getAddress()) ? Evidence.NONE : Evidence.HINT;
    }

    /**
     * Returns true if a failed attempt indicates, with or without proof, that the process which listened at an address
     * has ended.
     */
    public static boolean indicatesEnd(SocketAddress address, Throwable failure) {
        return evidence(address, failure) != Evidence.NONE;
    }

    /**
     * Returns true if an answer at an address may come from the server. It cannot if this stack has the same address
     * and the server is in another stack.
     */
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
            return true; // it is not known whether the address is this host's, so a refusal must prove nothing
        }
    }
}
