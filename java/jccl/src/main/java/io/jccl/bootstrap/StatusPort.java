package io.jccl.bootstrap;

import io.jccl.BootstrapException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.util.HexFormat;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Where the status server of a process listens: on the interfaces that the bootstrap uses. */
public final class StatusPort {

    private static final Logger LOG = LoggerFactory.getLogger(StatusPort.class);
    private static final int MAX_ADDRESSES = 4;

    private StatusPort() {}

    /**
     * A non-blocking channel that listens.
     *
     * @param port 0 for any; another is taken where this one is in use
     * @throws io.jccl.BootstrapException if no port can be had
     */
    public static ServerSocketChannel open(BootstrapOptions options, int port) {
        InetAddress address = NetworkInterfaces.bindAddress(NetworkInterfaces.usable(options));
        if (port != 0) {
            try {
                return Server.listening(new InetSocketAddress(address, port));
            } catch (BootstrapException inUse) {
                LOG.info(
                        "JCCL_STATUS_PORT={}: in use, perhaps by another process of the job; this one listens on another",
                        port);
            }
        }
        return Server.listening(new InetSocketAddress(address, 0));
    }

    /**
     * The addresses of a port as text for other ranks, the best first.
     *
     * @param preferred an address of this host by which others are reached
     */
    public static String addresses(BootstrapOptions options, InetAddress preferred, int port) {
        List<InterfaceCandidate> candidates =
                NetworkInterfaces.preferring(NetworkInterfaces.usable(options), preferred);
        return HexFormat.of()
                .formatHex(
                        RendezvousServer.encodeAddresses(NetworkInterfaces.withPort(candidates, port, MAX_ADDRESSES)));
    }

    /**
     * The addresses of another rank's status server, the best first.
     *
     * @throws WireException if the text is no such address
     */
    public static List<InetSocketAddress> decode(String encoded) {
        return ReservedPort.decode(encoded);
    }
}
