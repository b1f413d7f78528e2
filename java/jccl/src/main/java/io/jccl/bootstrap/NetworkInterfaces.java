package io.jccl.bootstrap;

import io.jccl.BootstrapException;
import io.jccl.internal.Causes;
import io.jccl.internal.LocatedAddress;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * Which addresses of this host to offer to other ranks: what the user asks for ({@code JCCL_SOCKET_IFNAME}, {@code
 * JCCL_SOCKET_FAMILY}), else the host's real networks first, VPNs next, bridges of containers and virtual machines
 * later, link-local addresses after them, loopback last; see {@link LinkKind}. Others connect to the one that they reach.
 */
public final class NetworkInterfaces {

    private static final int REAL = 0;
    private static final int POINT_TO_POINT = 100;
    private static final int VIRTUAL_NETWORK = 200;
    private static final int LINK_LOCAL = 300;
    private static final int LOOPBACK = 400;
    private static final int SECOND_FAMILY = 10;
    private static final int PREFERENCE = 1000;
    private static final int MAX_ADDRESSES = 16; // that the native engine listens on

    /** Addresses whose links have been up. */
    private static final Set<InetAddress> USED = ConcurrentHashMap.newKeySet();

    private NetworkInterfaces() {}

    /** An address as the operating system shows it; what {@link #rate} needs to know of it. */
    record Found(String name, InetAddress address, boolean up, boolean pointToPoint, boolean virtual, LinkKind kind) {

        /** Where only the name says what kind of interface it is. */
        Found(String name, InetAddress address, boolean up, boolean pointToPoint, boolean virtual) {
            this(name, address, up, pointToPoint, virtual, LinkKind.named(name));
        }
    }

    /**
     * All addresses of this host, the best first, those that may not be used last.
     *
     * @throws BootstrapException if the operating system does not list them
     */
    public static List<InterfaceCandidate> candidates(BootstrapOptions options) {
        List<Found> found = new ArrayList<>();
        LinkKind.Finder kinds = new LinkKind.Finder(Path.of("/"));
        try {
            for (NetworkInterface link : Collections.list(NetworkInterface.getNetworkInterfaces())) {
                for (InetAddress address : Collections.list(link.getInetAddresses())) {
                    found.add(found(link, address, kinds));
                }
            }
        } catch (SocketException e) {
            throw new BootstrapException("the network interfaces cannot be listed: " + Causes.describe(e), e);
        }
        return rate(found, InterfaceFilter.parse(options.interfaces()), AddressFamily.parse(options.family()));
    }

    private static Found found(NetworkInterface link, InetAddress scoped, LinkKind.Finder kinds) {
        InetAddress address = withoutScope(scoped);
        try {
            return new Found(
                    link.getName(),
                    address,
                    isOrWasUp(address, link.isUp()),
                    link.isPointToPoint(),
                    link.isVirtual(),
                    kinds.of(link.getName()));
        } catch (SocketException gone) {
            return new Found(link.getName(), address, false, false, false); // it disappeared meanwhile
        }
    }

    /**
     * Whether an address can be offered: a link that is down for a moment, while a communicator is split or shrunk, is up
     * again when other ranks try once more; without it they would be sent to loopback, where nobody listens.
     */
    static boolean isOrWasUp(InetAddress address, boolean up) {
        if (up) {
            USED.add(address);
        }
        return USED.contains(address);
    }

    /** Java appends the interface to every IPv6 address; only link-local ones need it, others do not parse with it. */
    static InetAddress withoutScope(InetAddress address) {
        try {
            return address instanceof Inet6Address && !address.isLinkLocalAddress()
                    ? InetAddress.getByAddress(address.getAddress())
                    : address;
        } catch (UnknownHostException e) {
            throw new IllegalStateException(address + " has as many bytes as an address", e);
        }
    }

    /** Rates and sorts; the order of equals is kept. */
    static List<InterfaceCandidate> rate(List<Found> found, InterfaceFilter filter, AddressFamily family) {
        List<InterfaceCandidate> rated = new ArrayList<>();
        for (Found one : found) {
            rated.add(rate(one, filter, family));
        }
        rated.sort((one, other) -> one.usable() == other.usable()
                ? Integer.compare(one.rating(), other.rating())
                : Boolean.compare(other.usable(), one.usable()));
        return List.copyOf(rated);
    }

    private static InterfaceCandidate rate(Found one, InterfaceFilter filter, AddressFamily family) {
        InetAddress address = one.address();
        if (!one.up()) {
            return unusable(one, "the interface is down");
        }
        if (!family.admits(address)) {
            return unusable(one, "JCCL_SOCKET_FAMILY asks for the other family");
        }
        if (!filter.admits(one.name(), address)) {
            return unusable(one, "JCCL_SOCKET_IFNAME=" + filter + " leaves it out");
        }
        int rating = filter.preference(one.name(), address) * PREFERENCE
                + (address instanceof Inet4Address ? 0 : SECOND_FAMILY);
        if (address.isLoopbackAddress()) {
            return new InterfaceCandidate(one.name(), address, rating + LOOPBACK, "loopback, this host only", true);
        }
        if (address.isLinkLocalAddress() && address instanceof Inet6Address) {
            return unusable(one, "link-local IPv6, which means nothing on another host");
        }
        if (address.isLinkLocalAddress()) {
            return new InterfaceCandidate(one.name(), address, rating + LINK_LOCAL, "link-local", true);
        }
        if (one.kind() == LinkKind.CONTAINERS) {
            return new InterfaceCandidate(
                    one.name(), address, rating + VIRTUAL_NETWORK, "a container's or virtual machine's network", true);
        }
        if (one.kind() == LinkKind.TUNNEL || one.pointToPoint() || one.virtual()) {
            return new InterfaceCandidate(
                    one.name(), address, rating + POINT_TO_POINT, "VPN, point-to-point or alias", true);
        }
        return new InterfaceCandidate(one.name(), address, rating + REAL, "network", true);
    }

    private static InterfaceCandidate unusable(Found one, String why) {
        return new InterfaceCandidate(one.name(), one.address(), Integer.MAX_VALUE, why, false);
    }

    /**
     * The candidates that may be used, the best first.
     *
     * @throws BootstrapException if there is none; shows the table
     */
    static List<InterfaceCandidate> usable(BootstrapOptions options) {
        List<InterfaceCandidate> all = candidates(options);
        List<InterfaceCandidate> usable = new ArrayList<>();
        for (InterfaceCandidate one : all) {
            if (one.usable()) {
                usable.add(one);
            }
        }
        if (usable.isEmpty()) {
            throw new BootstrapException("no network interface is usable: JCCL_SOCKET_IFNAME=\"" + options.interfaces()
                    + "\" JCCL_SOCKET_FAMILY=\"" + options.family() + "\"; choose from these:" + table(all));
        }
        return usable;
    }

    /**
     * The addresses that carry data: where {@code JCCL_SOCKET_IFNAME} names interfaces to use, those of each, so that
     * connections share them; else only those of the interface in use. One of each family and interface, the family in
     * use first: a rank that reached rank 0 by the other one, perhaps only because a packet was lost, is still reached.
     *
     * @param used the address by which this rank has reached the others so far
     */
    public static List<InetAddress> forData(BootstrapOptions options, InetAddress used) {
        List<InterfaceCandidate> all = candidates(options);
        return forData(InterfaceFilter.parse(options.interfaces()).selects() ? all : ofOneInterface(all, used), used);
    }

    private static List<InterfaceCandidate> ofOneInterface(List<InterfaceCandidate> all, InetAddress address) {
        Set<String> names = new HashSet<>();
        for (InterfaceCandidate one : all) {
            if (one.address().equals(address)) {
                names.add(one.name());
            }
        }
        List<InterfaceCandidate> selected = new ArrayList<>();
        for (InterfaceCandidate one : all) {
            if (names.contains(one.name())) {
                selected.add(one);
            }
        }
        return selected;
    }

    /** In an order that hosts with the same names agree on: equal positions of two lists are one network. */
    static List<InetAddress> forData(List<InterfaceCandidate> selected, InetAddress used) {
        Map<String, InetAddress> first = new LinkedHashMap<>(); // by family and name
        List<InterfaceCandidate> fitting = new ArrayList<>();
        for (InterfaceCandidate one : selected) {
            if (one.usable() && one.address().isLoopbackAddress() == used.isLoopbackAddress()) {
                fitting.add(one);
            }
        }
        fitting.sort((one, other) -> compareForData(one, other, used));
        for (InterfaceCandidate one : fitting) {
            String link = sameFamily(one.address(), used) + one.name();
            if (!first.containsKey(link) || one.address().equals(used)) {
                first.put(link, one.address());
            }
        }
        List<InetAddress> addresses = new ArrayList<>(first.values());
        if (addresses.size() > MAX_ADDRESSES) {
            addresses = addresses.subList(0, MAX_ADDRESSES);
        }
        return addresses.contains(used) ? List.copyOf(addresses) : List.of(used);
    }

    /** The used address's family first, then by rating and name. */
    private static int compareForData(InterfaceCandidate one, InterfaceCandidate other, InetAddress used) {
        int byFamily = Boolean.compare(sameFamily(other.address(), used), sameFamily(one.address(), used));
        int byRating = byFamily != 0 ? byFamily : Integer.compare(one.rating(), other.rating());
        return byRating != 0 ? byRating : one.name().compareTo(other.name());
    }

    private static boolean sameFamily(InetAddress one, InetAddress other) {
        return one.getClass() == other.getClass();
    }

    /** The candidates, one a line. */
    public static String table(List<InterfaceCandidate> candidates) {
        return candidates.stream().map(one -> "\n  " + one.describe()).collect(Collectors.joining());
    }

    /** The same with one address first, which is known to work, if it is among them. */
    static List<InterfaceCandidate> preferring(List<InterfaceCandidate> candidates, InetAddress first) {
        List<InterfaceCandidate> preferred = new ArrayList<>();
        List<InterfaceCandidate> others = new ArrayList<>();
        for (InterfaceCandidate one : candidates) {
            (one.address().equals(first) ? preferred : others).add(one);
        }
        preferred.addAll(others);
        return preferred;
    }

    /**
     * The addresses of candidates, {@code limit} of them at most, with a port: one of every interface before a second of any, so
     * that no interface with many addresses hides another. Loopback, which leads to no other host, comes last.
     */
    static List<InetSocketAddress> withPort(List<InterfaceCandidate> candidates, int port, int limit) {
        Map<String, Integer> taken = new HashMap<>(); // by interface
        Map<InterfaceCandidate, Integer> turns = new LinkedHashMap<>();
        for (InterfaceCandidate candidate : candidates) {
            boolean last = candidate.address().isLoopbackAddress() && !turns.isEmpty();
            turns.put(candidate, last ? Integer.MAX_VALUE : taken.merge(candidate.name(), 1, Integer::sum));
        }
        return turns.keySet().stream()
                .sorted(Comparator.comparing(turns::get)) // keeps the order of equals
                .limit(limit)
                .<InetSocketAddress>map(candidate -> new LocatedAddress(candidate.address(), port, NetworkStack.own()))
                .toList();
    }

    /** What a server of these candidates listens on: the address if there is but one, else all (null). */
    static InetAddress bindAddress(List<InterfaceCandidate> candidates) {
        return candidates.size() == 1 ? candidates.get(0).address() : null;
    }
}
