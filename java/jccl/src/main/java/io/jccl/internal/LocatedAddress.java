package io.jccl.internal;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;

/**
 * A server's address together with the network stack in which the server has it. Other stacks may have the same
 * address: two hosts can both have a {@code docker0} with 172.17.0.1. So an answer from an address says something about
 * the server only if the address leads to the server's stack.
 */
public final class LocatedAddress extends InetSocketAddress {

    /** The stack is not known, for example because a user wrote the address. */
    public static final long UNKNOWN = 0;

    private static final long serialVersionUID = 1;

    private final long stack;

    /**
     * Makes an address of a stack.
     *
     * @param stack the number of the network stack, or {@link #UNKNOWN}
     */
    public LocatedAddress(InetAddress address, int port, long stack) {
        super(address, port);
        this.stack = stack;
    }

    /** Returns the network stack in which a server has an address; {@link #UNKNOWN} if the address does not say. */
    public static long stackOf(InetSocketAddress address) {
        return address instanceof LocatedAddress located ? located.stack : UNKNOWN;
    }

    /** Returns the network stack of a server that has all of the addresses. */
    public static long stackOf(List<InetSocketAddress> addresses) {
        return addresses.isEmpty() ? UNKNOWN : stackOf(addresses.get(0));
    }
}
