package io.jccl.rendezvous;

import java.util.function.Function;

/** A host and a port as {@code host:port} or {@code [v6-address]:port}. */
public record HostPort(String host, int port) {

    /**
     * Parses a text.
     *
     * @param problem creates the exception from the reason why the text is invalid
     */
    public static HostPort parse(String text, Function<String, IllegalArgumentException> problem) {
        int colon = text.lastIndexOf(':');
        if (colon <= 0 || (text.indexOf(':') != colon && !text.startsWith("["))) {
            throw problem.apply("no port, or an IPv6 address without brackets");
        }
        String host = text.substring(0, colon);
        if (host.startsWith("[")) {
            if (!host.endsWith("]")) {
                throw problem.apply("a bracket is not closed");
            }
            host = host.substring(1, host.length() - 1);
        }
        int port;
        try {
            port = Integer.parseInt(text.substring(colon + 1));
        } catch (NumberFormatException e) {
            throw problem.apply("the port is not a number");
        }
        if (host.isBlank() || port < 1 || port > 65535) {
            throw problem.apply("the host is empty or the port is not 1 to 65535");
        }
        return new HostPort(host, port);
    }
}
