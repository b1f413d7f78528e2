package io.jccl.rendezvous;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;

/**
 * The network interfaces that a user selects by {@code JCCL_SOCKET_IFNAME}: a list of name prefixes ({@code eth,ib}),
 * exact names ({@code =eth0,eth1}) or networks ({@code 10.0.0.0/8}). With {@code ^} in front, the list names interfaces
 * to leave out ({@code ^docker}, {@code ^=eth0}, {@code ^172.17.0.0/16}). Earlier entries are preferred. Immutable.
 */
final class InterfaceFilter {

    private sealed interface Pattern {
        boolean matches(String name, InetAddress address);
    }

    private record NamePattern(String text, boolean exact) implements Pattern {
        @Override
        public boolean matches(String name, InetAddress address) {
            return exact ? name.equals(text) : name.startsWith(text);
        }
    }

    private record NetworkPattern(byte[] network, int bits) implements Pattern {
        @Override
        public boolean matches(String name, InetAddress address) {
            byte[] raw = address.getAddress();
            if (raw.length != network.length) {
                return false;
            }
            for (int bit = 0; bit < bits; bit++) {
                int mask = 0x80 >> (bit & 7);
                if (((raw[bit >> 3] ^ network[bit >> 3]) & mask) != 0) {
                    return false;
                }
            }
            return true;
        }
    }

    private final boolean exclude;
    private final List<Pattern> patterns;
    private final String text;

    private InterfaceFilter(String text, boolean exclude, List<Pattern> patterns) {
        this.text = text;
        this.exclude = exclude;
        this.patterns = List.copyOf(patterns);
    }

    /**
     * Parses the setting.
     *
     * @throws IllegalArgumentException if the text is invalid; quotes it
     */
    static InterfaceFilter parse(String setting) {
        String rest = setting.trim();
        boolean exclude = rest.startsWith("^");
        rest = exclude ? rest.substring(1) : rest;
        boolean exact = rest.startsWith("=");
        rest = exact ? rest.substring(1) : rest;
        List<Pattern> patterns = new ArrayList<>();
        for (String part : rest.split(",", -1)) {
            String name = part.trim();
            if (name.isEmpty() && rest.isEmpty() && !exclude && !exact) {
                break;
            }
            if (name.isEmpty() || name.startsWith("^") || name.startsWith("=")) {
                throw bad(setting, "an entry is empty, or ^ or = is not at the very beginning");
            }
            patterns.add(name.contains("/") ? network(setting, name) : new NamePattern(name, exact));
        }
        return new InterfaceFilter(setting.trim(), exclude, patterns);
    }

    private static Pattern network(String setting, String entry) {
        int slash = entry.indexOf('/');
        String address = entry.substring(0, slash);
        if (!address.matches("[0-9.]+|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*")) {
            throw bad(setting, "\"" + entry + "\" does not begin with a numeric address");
        }
        try {
            byte[] raw = InetAddress.getByName(address).getAddress();
            int bits = Integer.parseInt(entry.substring(slash + 1));
            if (bits < 0 || bits > raw.length * 8) {
                throw bad(setting, "\"" + entry + "\" has a prefix length outside 0 to " + raw.length * 8);
            }
            return new NetworkPattern(raw, bits);
        } catch (UnknownHostException | NumberFormatException e) {
            throw bad(setting, "\"" + entry + "\" is not a network like 10.0.0.0/8");
        }
    }

    private static IllegalArgumentException bad(String setting, String why) {
        return new IllegalArgumentException("JCCL_SOCKET_IFNAME=\"" + setting + "\": " + why
                + "; expected name prefixes (eth,ib), =exact names, networks (10.0.0.0/8), or ^ before any of them to"
                + " leave them out");
    }

    /** Returns true if the setting is empty. */
    boolean isEmpty() {
        return patterns.isEmpty();
    }

    /** Returns true if the setting names interfaces to use; false if it is empty or names interfaces to leave out. */
    boolean selects() {
        return !exclude && !patterns.isEmpty();
    }

    /** Returns the index of the first entry that matches, or -1 if none does. */
    private int firstMatch(String name, InetAddress address) {
        for (int i = 0; i < patterns.size(); i++) {
            if (patterns.get(i).matches(name, address)) {
                return i;
            }
        }
        return -1;
    }

    /** Returns true if an interface's address may be used. */
    boolean admits(String name, InetAddress address) {
        return patterns.isEmpty() || (firstMatch(name, address) >= 0) != exclude;
    }

    /** Returns the preference of an admitted address; lower is better. */
    int preference(String name, InetAddress address) {
        return selects() ? Math.max(0, firstMatch(name, address)) : 0;
    }

    @Override
    public String toString() {
        return text;
    }
}
