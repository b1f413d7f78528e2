package io.jccl.internal;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;

/**
 * A server's address, and the network stack in which the server has it. Other stacks may have the same address: two hosts
 * have a {@code docker0} with 172.17.0.1 each. So what an address answers says something of the server only where it leads to
 * the server's stack.
 */
public final class LocatedAddress extends InetSocketAddress {

    /** No stack is known: an address that somebody wrote down. */
    public static final long UNKNOWN = 0;

    private static final long serialVersionUID = 1;

    private final long stack;

    /**
     * An address.
     *
     * @param stack distinguishes network stacks, or {@link #UNKNOWN}
     */
    public LocatedAddress(InetAddress address, int port, long stack) {
        super(address, port);
        this.stack = stack;
    }

    /** The network stack that has an address as its own; {@link #UNKNOWN} if nobody said it. */
    public static long stackOf(InetSocketAddress address) {
        return address instanceof LocatedAddress located ? located.stack : UNKNOWN;
    }

    /** The network stack of a server, which has all of the addresses. */
    public static long stackOf(List<InetSocketAddress> addresses) {
        return addresses.isEmpty() ? UNKNOWN : stackOf(addresses.get(0));
    }
}
