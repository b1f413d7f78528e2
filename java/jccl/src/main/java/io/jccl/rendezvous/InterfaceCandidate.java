package io.jccl.rendezvous;

import java.net.InetAddress;

/**
 * An address of this host, rated for connections to other hosts.
 *
 * @param name the interface, for example {@code eth0}
 * @param address its address
 * @param rating the rating; lower is better
 * @param reason the reason for the rating, or the reason why the candidate is not used
 * @param usable true if the address may be used
 */
public record InterfaceCandidate(String name, InetAddress address, int rating, String reason, boolean usable) {

    /** Returns the candidate as a line of a table. */
    public String describe() {
        return String.format("%-12s %-40s %s%s", name, address.getHostAddress(), usable ? "" : "not used: ", reason);
    }
}
