package io.jccl.membership;

import io.jccl.BootstrapException;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.rendezvous.InterfaceCandidate;
import io.jccl.rendezvous.NetworkInterfaces;
import io.jccl.rendezvous.RankRegistration;
import io.jccl.rendezvous.RendezvousServer;
import io.jccl.wire.Addresses;
import io.jccl.wire.Reactor;
import io.jccl.wire.Server;
import io.jccl.wire.WireException;
import java.io.Closeable;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A port that a rank reserves for the rendezvous server with which its communicator is reformed. The ranks exchange the
 * addresses of these ports during initialisation, because the old network may be gone when the addresses are needed.
 *
 * <p>The port listens while the rank is in the group or in a group that continues it. Nobody accepts its connections
 * until there is a rendezvous server. If the rank has ended, the operating system refuses a connection at once. If the
 * rank is only late, the connection waits.
 */
public final class ReservedPort implements Closeable {

    private static final int MAX_ADDRESSES = 4;

    private final ServerSocketChannel acceptor;
    private final String encoded;
    private final Map<String, RankRegistration> earlier = new ConcurrentHashMap<>(); // failed attempts, by key
    private RendezvousServer server; // the server that was opened last; null before the first is opened
    private int owners = 1; // number of owners that have not closed this port

    /**
     * Reserves any free port.
     *
     * @param candidates the addresses at which other ranks may reach the port, best first
     * @throws BootstrapException if there is no free port
     */
    ReservedPort(List<InterfaceCandidate> candidates) {
        acceptor = Server.listening(new InetSocketAddress(NetworkInterfaces.bindAddress(candidates), 0));
        int port = acceptor.socket().getLocalPort();
        List<InetSocketAddress> addresses = NetworkInterfaces.withPort(candidates, port, MAX_ADDRESSES);
        encoded = HexFormat.of().formatHex(Addresses.encode(addresses));
    }

    /** Returns this port's addresses as text for other ranks, see {@link #decode}. */
    String encoded() {
        return encoded;
    }

    /**
     * Returns the addresses of another rank's port, best first.
     *
     * @throws WireException if the text does not come from {@link #encoded}
     */
    public static List<InetSocketAddress> decode(String encoded) {
        try {
            return Addresses.decode(HexFormat.of().parseHex(encoded));
        } catch (IllegalArgumentException e) {
            throw new WireException("rendezvousAddress=\"" + encoded + "\": expected the text of a reserved port");
        }
    }

    /** Starts a rendezvous server on the port, and closes the previous one. */
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

    /** Adds an owner of the port, which must close it too. */
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
