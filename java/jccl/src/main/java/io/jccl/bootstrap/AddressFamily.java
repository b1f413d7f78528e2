package io.jccl.bootstrap;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.util.Locale;

/** Which kind of address to use between hosts. */
enum AddressFamily {
    ANY,
    INET,
    INET6;

    /**
     * Reads the setting.
     *
     * @param text {@code AF_INET}, {@code AF_INET6} or empty; case does not matter
     * @throws IllegalArgumentException if it is something else
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
