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
 * A port that a rank keeps for the rendezvous server with which a communicator is reformed. The ranks exchange these addresses during
 * initialisation, because the old network may be gone when they need them.
 *
 * <p>The port listens as long as the rank is in the group or in one that continues it, and nobody accepts until there is a
 * rendezvous server. If the rank has ended, the operating system refuses a connection at once; if the rank has not come yet, the connection
 * waits.
 */
final class ReservedPort implements Closeable {

    private static final int MAX_ADDRESSES = 4;

    private final ServerSocketChannel acceptor;
    private final String encoded;
    private final Map<String, RankRegistration> earlier = new ConcurrentHashMap<>(); // attempts that failed, by key
    private RendezvousServer server; // the last one
    private int owners = 1; // that have not closed it

    /**
     * Takes any free port.
     *
     * @param candidates where other ranks may reach it, the best first
     * @throws BootstrapException if there is none
     */
    ReservedPort(List<InterfaceCandidate> candidates) {
        acceptor = Server.listening(new InetSocketAddress(NetworkInterfaces.bindAddress(candidates), 0));
        int port = acceptor.socket().getLocalPort();
        List<InetSocketAddress> addresses = NetworkInterfaces.withPort(candidates, port, MAX_ADDRESSES);
        encoded = HexFormat.of().formatHex(RendezvousServer.encodeAddresses(addresses));
    }

    /** This port's addresses as text for other ranks, see {@link #decode}. */
    String encoded() {
        return encoded;
    }

    /**
     * The addresses of another rank's port, the best first.
     *
     * @throws WireException if the text is no such address
     */
    static List<InetSocketAddress> decode(String encoded) {
        try {
            return RendezvousServer.decodeAddresses(HexFormat.of().parseHex(encoded));
        } catch (IllegalArgumentException e) {
            throw new WireException("rendezvousAddress=\"" + encoded + "\": expected the text of a reserved port");
        }
    }

    /** Starts a rendezvous server on the port, and ends the one before. */
    synchronized RendezvousServer open(BootstrapOptions options, byte[] secret, RemainingRanks remaining) {
        closeServer();
        server = new RendezvousServer(options, acceptor, secret, new ReformRendezvous(remaining, earlier));
        return server;
    }

    private void closeServer() {
        if (server != null) {
            server.close();
        }
    }

    /** Another owner of the port, who closes it too. */
    synchronized ReservedPort share() {
        owners++;
        return this;
    }

    /** Closes the port once all its owners have closed it. */
    @Override
    public synchronized void close() {
        if (--owners == 0) {
            closeServer();
            Reactor.closeQuietly(acceptor);
        }
    }
}
