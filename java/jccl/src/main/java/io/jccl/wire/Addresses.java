package io.jccl.wire;

import io.jccl.UniqueId;
import io.jccl.internal.LocatedAddress;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;

/** The wire format of the addresses of a server. */
public final class Addresses {

    private Addresses() {}

    /** Reads the addresses that {@link #encode} wrote. */
    public static List<InetSocketAddress> decode(byte[] blob) {
        WireReader in = new WireReader(blob);
        long stack = in.i64();
        int n = in.i32In("addresses", 1, UniqueId.MAX_ADDRESSES);
        List<InetSocketAddress> addresses = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            byte[] raw = in.blob(16);
            try {
                addresses.add(new LocatedAddress(InetAddress.getByAddress(raw), in.i32In("port", 1, 65535), stack));
            } catch (UnknownHostException e) {
                throw new WireException("address.length=" + raw.length + ": expected 4 or 16");
            }
        }
        in.end();
        return addresses;
    }

    /** Writes addresses, and the network stack that they belong to. */
    public static byte[] encode(List<InetSocketAddress> addresses) {
        WireWriter out = new WireWriter().i64(LocatedAddress.stackOf(addresses)).i32(addresses.size());
        for (InetSocketAddress address : addresses) {
            out.blob(address.getAddress().getAddress()).i32(address.getPort());
        }
        return out.toBytes();
    }
}
