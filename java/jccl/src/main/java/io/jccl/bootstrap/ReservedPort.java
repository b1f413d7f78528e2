package io.jccl.bootstrap;

import io.jccl.BootstrapException;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import java.util.HexFormat;
import java.util.List;

/**
 * A port that a rank keeps without listening on it, for the root of those that are left when others have failed. Its place
 * is told while all are well: whom the survivors must turn to is only known when nobody can be asked any more.
 *
 * <p>A bound socket that does not listen takes no connection and lets a {@link Server} bind the same port beside it.
 */
final class ReservedPort implements Closeable {

    private static final int MOST_ADDRESSES = 4;

    private final SocketChannel holder;
    private final InetAddress bound; // null: all addresses
    private final int port;
    private final String place;

    /**
     * Takes any free port.
     *
     * @param candidates where other ranks may reach it, the best first
     * @throws BootstrapException if there is none
     */
    ReservedPort(List<InterfaceCandidate> candidates) {
        bound = NetworkInterfaces.bindAddress(candidates);
        SocketChannel opened = null;
        try {
            opened = SocketChannel.open();
            opened.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            opened.bind(new InetSocketAddress(bound, 0));
            holder = opened;
            port = ((InetSocketAddress) opened.getLocalAddress()).getPort();
        } catch (IOException e) {
            if (opened != null) {
                Reactor.closeQuietly(opened);
            }
            throw new BootstrapException(
                    "address=" + (bound == null ? "any" : bound) + ": no port can be had: " + e.getMessage()
                            + "; raise the limit on open files (ulimit -n)",
                    e);
        }
        List<InetSocketAddress> addresses = candidates.stream()
                .limit(MOST_ADDRESSES)
                .map(candidate -> new InetSocketAddress(candidate.address(), port))
                .toList();
        place = HexFormat.of().formatHex(Root.encodeAddresses(addresses));
    }

    /** A text for other ranks, by which {@link #addresses} finds this port. */
    String place() {
        return place;
    }

    /**
     * The addresses of another rank's port, the best first.
     *
     * @throws WireException if this is no place
     */
    static List<InetSocketAddress> addresses(String place) {
        try {
            return Root.decodeAddresses(HexFormat.of().parseHex(place));
        } catch (IllegalArgumentException e) {
            throw new WireException("place=\"" + place + "\": expected the text of a reserved port");
        }
    }

    /**
     * Starts a root on the port.
     *
     * @throws BootstrapException if another root is still on it
     */
    Root open(BootstrapOptions options, byte[] secret) {
        return new Root(options, bound, port, secret);
    }

    @Override
    public void close() {
        Reactor.closeQuietly(holder);
    }
}
