package io.jccl.rendezvous;

import io.jccl.wire.Addresses;
import io.jccl.wire.Handshake;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
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
public record CoordinatorAddress(byte[] salt, List<InetSocketAddress> addresses) {

    private static final int MAX_BYTES = 1024;

    /** Returns a copy that has one address first, if it is among the addresses. */
    public CoordinatorAddress preferring(InetAddress first) {
        List<InetSocketAddress> sorted = new ArrayList<>(addresses);
        sorted.sort(Comparator.comparing(one -> !one.getAddress().equals(first)));
        return new CoordinatorAddress(salt, sorted);
    }

    public byte[] encode() {
        return new WireWriter().blob(salt).blob(Addresses.encode(addresses)).toBytes();
    }

    public static CoordinatorAddress decode(byte[] bytes) {
        WireReader in = new WireReader(bytes);
        byte[] salt = in.blob(Handshake.NONCE_BYTES);
        if (salt.length != Handshake.NONCE_BYTES) {
            throw new WireException("salt.length=" + salt.length + ": expected " + Handshake.NONCE_BYTES);
        }
        List<InetSocketAddress> addresses = Addresses.decode(in.blob(MAX_BYTES));
        in.end();
        return new CoordinatorAddress(salt, addresses);
    }
}
