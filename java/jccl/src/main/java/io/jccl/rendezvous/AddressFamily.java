package io.jccl.rendezvous;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.util.Locale;

/** The IP address families that ranks may use between hosts. */
enum AddressFamily {
    ANY,
    INET,
    INET6;

    /**
     * Parses {@code JCCL_SOCKET_FAMILY}.
     *
     * @param text {@code AF_INET}, {@code INET} or {@code IPV4}; {@code AF_INET6}, {@code INET6} or {@code IPV6}; empty
     *     for both families. Case does not matter.
     * @throws IllegalArgumentException if the text is anything else
     */
    static AddressFamily parse(String text) {
        return switch (text.trim().toUpperCase(Locale.ROOT)) {
            case "" -> ANY;
            case "AF_INET", "INET", "IPV4" -> INET;
            case "AF_INET6", "INET6", "IPV6" -> INET6;
            default -> throw new IllegalArgumentException(
                    "JCCL_SOCKET_FAMILY=\"" + text + "\": expected AF_INET or AF_INET6, or leave it unset for both");
        };
    }

    boolean admits(InetAddress address) {
        return this == ANY || (this == INET) == (address instanceof Inet4Address);
    }
}
