package io.jccl.bootstrap;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The address of the coordinator, which rank 0 sends to the other ranks through the rendezvous server.
 *
 * @param salt makes the group's secret differ from that of any other group that used the same rendezvous secret
 * @param addresses the addresses of the coordinator, best first
 */
record CoordinatorAddress(byte[] salt, List<InetSocketAddress> addresses) {

    private static final int MAX_BYTES = 1024;

    /** Returns a copy that has one address first, if it is among the addresses. */
    CoordinatorAddress preferring(InetAddress first) {
        List<InetSocketAddress> sorted = new ArrayList<>(addresses);
        sorted.sort(Comparator.comparing(one -> !one.getAddress().equals(first)));
        return new CoordinatorAddress(salt, sorted);
    }

    byte[] encode() {
        return new WireWriter()
                .blob(salt)
                .blob(RendezvousServer.encodeAddresses(addresses))
                .toBytes();
    }

    static CoordinatorAddress decode(byte[] bytes) {
        WireReader in = new WireReader(bytes);
        byte[] salt = in.blob(Handshake.NONCE_BYTES);
        if (salt.length != Handshake.NONCE_BYTES) {
            throw new WireException("salt.length=" + salt.length + ": expected " + Handshake.NONCE_BYTES);
        }
        List<InetSocketAddress> addresses = RendezvousServer.decodeAddresses(in.blob(MAX_BYTES));
        in.end();
        return new CoordinatorAddress(salt, addresses);
    }
}
