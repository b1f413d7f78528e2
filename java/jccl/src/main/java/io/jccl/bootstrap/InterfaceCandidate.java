package io.jccl.bootstrap;

import java.net.InetAddress;

/**
 * An address of this host and how good it is for connections to other hosts.
 *
 * @param name the interface, for example {@code eth0}
 * @param address its address
 * @param rating how good: the lowest is the best
 * @param reason why it is rated so; for a candidate that is not used, why not
 * @param usable whether it may be used
 */
public record InterfaceCandidate(String name, InetAddress address, int rating, String reason, boolean usable) {

    /** The candidate as a line of a table. */
    public String describe() {
        return String.format("%-12s %-40s %s%s", name, address.getHostAddress(), usable ? "" : "not used: ", reason);
    }
}
