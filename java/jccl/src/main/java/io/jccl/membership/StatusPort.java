package io.jccl.membership;

import io.jccl.BootstrapException;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.rendezvous.InterfaceCandidate;
import io.jccl.rendezvous.NetworkInterfaces;
import io.jccl.wire.Addresses;
import io.jccl.wire.Server;
import io.jccl.wire.WireException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.util.HexFormat;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Opens the port of a process's status server, on the interfaces that the bootstrap uses. */
public final class StatusPort {

    private static final Logger LOG = LoggerFactory.getLogger(StatusPort.class);
    private static final int MAX_ADDRESSES = 4;

    private StatusPort() {}

    /**
     * Returns a non-blocking channel that listens.
     *
     * @param port 0 for any free port; if another value is in use, a free port is taken instead
     * @throws io.jccl.BootstrapException if no port is available
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
     * Returns the addresses of a port as text for other ranks, best first.
     *
     * @param preferred the address by which this host reaches others
     */
    public static String addresses(BootstrapOptions options, InetAddress preferred, int port) {
        List<InterfaceCandidate> candidates =
                NetworkInterfaces.preferring(NetworkInterfaces.usable(options), preferred);
        return HexFormat.of().formatHex(Addresses.encode(NetworkInterfaces.withPort(candidates, port, MAX_ADDRESSES)));
    }

    /**
     * Returns the addresses of another rank's status server, best first.
     *
     * @throws WireException if the text does not contain addresses
     */
    public static List<InetSocketAddress> decode(String encoded) {
        return ReservedPort.decode(encoded);
    }
}
