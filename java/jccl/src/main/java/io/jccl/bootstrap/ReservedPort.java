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
 * whom the remaining must turn to is only known when nobody can be asked any more.
 *
 * <p>The port listens as long as the rank is in the group, and nobody accepts until there is a root: whoever connects learns
 * from the operating system at once that the rank has ended, and waits for one that has not come yet.
 */
final class ReservedPort implements Closeable {

    private static final int MOST_ADDRESSES = 4;

    private final ServerSocketChannel acceptor;
    private final String place;
    private final Map<String, RankRegistration> earlier = new ConcurrentHashMap<>(); // shrinks that failed, by key
    private RendezvousServer root; // the last one

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
        place = HexFormat.of().formatHex(RendezvousServer.encodeAddresses(addresses));
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
            return RendezvousServer.decodeAddresses(HexFormat.of().parseHex(place));
        } catch (IllegalArgumentException e) {
            throw new WireException("place=\"" + place + "\": expected the text of a reserved port");
        }
    }

    /** Starts a root on the port, and ends the one before. */
    synchronized RendezvousServer open(BootstrapOptions options, byte[] secret, RemainingRanks remaining) {
        closeRendezvous();
        root = new RendezvousServer(options, acceptor, secret, new ShrinkRendezvous(remaining, earlier));
        return root;
    }

    private void closeRendezvous() {
        if (root != null) {
            root.close();
        }
    }

    @Override
    public synchronized void close() {
        closeRendezvous();
        Reactor.closeQuietly(acceptor);
    }
}
