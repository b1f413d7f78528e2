package io.jccl.bootstrap;

import io.jccl.BootstrapException;
import java.io.Closeable;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A port that a rank keeps for the root of those that are left when others have failed. Its place is told while all are well:
 * whom the survivors must turn to is only known when nobody can be asked any more.
 *
 * <p>The port listens as long as the rank is in the group, and nobody accepts until there is a root: whoever connects learns
 * from the operating system at once that the rank has ended, and waits for one that has not come yet.
 */
final class ReservedPort implements Closeable {

    private static final int MOST_ADDRESSES = 4;

    private final ServerSocketChannel acceptor;
    private final String place;
    private final Map<String, Assembly> earlier = new ConcurrentHashMap<>(); // shrinks that failed, by key
    private Root root; // the last one

    /**
     * Takes any free port.
     *
     * @param candidates where other ranks may reach it, the best first
     * @throws BootstrapException if there is none
     */
    ReservedPort(List<InterfaceCandidate> candidates) {
        acceptor = Server.listening(new InetSocketAddress(NetworkInterfaces.bindAddress(candidates), 0));
        int port = acceptor.socket().getLocalPort();
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

    /** Starts a root on the port, and ends the one before. */
    synchronized Root open(BootstrapOptions options, byte[] secret, Survivors survivors) {
        closeRoot();
        root = new Root(options, acceptor, secret, new ShrinkRendezvous(survivors, earlier));
        return root;
    }

    private void closeRoot() {
        if (root != null) {
            root.close();
        }
    }

    @Override
    public synchronized void close() {
        closeRoot();
        Reactor.closeQuietly(acceptor);
    }
}
