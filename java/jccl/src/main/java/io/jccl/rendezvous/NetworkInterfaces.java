package io.jccl.rendezvous;

import io.jccl.BootstrapException;
import io.jccl.internal.Causes;
import io.jccl.internal.LocatedAddress;
import io.jccl.wire.NetworkStack;
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
 * Chooses the addresses of this host to which other ranks may connect, and their order. The user's choice ({@code
 * JCCL_SOCKET_IFNAME}, {@code JCCL_SOCKET_FAMILY}) decides first, then the kind of network: the host's real networks,
 * VPNs, networks of containers and virtual machines, link-local addresses, loopback; see {@link LinkKind}. Other ranks
 * use an address that they reach.
 */
public final class NetworkInterfaces {

    private static final int REAL = 0;
    private static final int POINT_TO_POINT = 100;
    private static final int VIRTUAL_NETWORK = 200;
    private static final int LINK_LOCAL = 300;
    private static final int LOOPBACK = 400;
    private static final int SECOND_FAMILY = 10;
    private static final int PREFERENCE = 1000;
    private static final int MAX_ADDRESSES = 16; // the native engine listens on at most this many addresses

    /** Addresses whose links were up at some time during the life of this process. */
    private static final Set<InetAddress> USED = ConcurrentHashMap.newKeySet();

    private NetworkInterfaces() {}

    /** An address as the operating system shows it, with all facts that {@link #rate} needs. */
    record Found(String name, InetAddress address, boolean up, boolean pointToPoint, boolean virtual, LinkKind kind) {

        /** An address of an interface whose kind is known from its name only. */
        Found(String name, InetAddress address, boolean up, boolean pointToPoint, boolean virtual) {
            this(name, address, up, pointToPoint, virtual, LinkKind.named(name));
        }
    }

    /**
     * Returns all addresses of this host, best first. Addresses that must not be used come last.
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
            return new Found(link.getName(), address, false, false, false); // the interface disappeared meanwhile
        }
    }

    /**
     * Returns true if an address can be offered because its link is or was up. A link that is down for a moment, while
     * a communicator is split or shrunk, is up again when other ranks retry. Without the link's address, the other
     * ranks would be sent to loopback, where nobody listens.
     */
    static boolean isOrWasUp(InetAddress address, boolean up) {
        if (up) {
            USED.add(address);
        }
        return USED.contains(address);
    }

    /**
     * Returns an address without its scope, unless it is link-local. Java appends the interface to every IPv6 address;
     * only link-local ones need it, and others cannot be parsed with it.
     */
    static InetAddress withoutScope(InetAddress address) {
        try {
            return address instanceof Inet6Address && !address.isLinkLocalAddress()
                    ? InetAddress.getByAddress(address.getAddress())
                    : address;
        } catch (UnknownHostException e) {
            throw new IllegalStateException(address + " has as many bytes as an address", e);
        }
    }

    /** Rates and sorts addresses. Equal ratings keep their order. */
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
     * Returns the candidates that may be used, best first.
     *
     * @throws BootstrapException if there is none; shows the table
     */
    public static List<InterfaceCandidate> usable(BootstrapOptions options) {
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
     * Returns the addresses that carry data. If {@code JCCL_SOCKET_IFNAME} names interfaces to use, connections share
     * all of these; else only the interface in use carries data. The result contains one address of each interface and
     * family, first those of the family in use. Both families are included so that a rank which reached rank 0 through
     * the other family, perhaps only because a packet was lost, can still be reached.
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

    /**
     * Sorts the addresses that carry data in an order on which hosts with the same interface names agree: equal
     * positions in two hosts' lists are one network.
     */
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

    /** Compares by family, then by rating and name. The family of the used address comes first. */
    private static int compareForData(InterfaceCandidate one, InterfaceCandidate other, InetAddress used) {
        int byFamily = Boolean.compare(sameFamily(other.address(), used), sameFamily(one.address(), used));
        int byRating = byFamily != 0 ? byFamily : Integer.compare(one.rating(), other.rating());
        return byRating != 0 ? byRating : one.name().compareTo(other.name());
    }

    private static boolean sameFamily(InetAddress one, InetAddress other) {
        return one.getClass() == other.getClass();
    }

    /** Returns the candidates as text, one per line. */
    public static String table(List<InterfaceCandidate> candidates) {
        return candidates.stream().map(one -> "\n  " + one.describe()).collect(Collectors.joining());
    }

    /** Returns the candidates with the given address first, if it is among them. That address is known to work. */
    public static List<InterfaceCandidate> preferring(List<InterfaceCandidate> candidates, InetAddress first) {
        List<InterfaceCandidate> preferred = new ArrayList<>();
        List<InterfaceCandidate> others = new ArrayList<>();
        for (InterfaceCandidate one : candidates) {
            (one.address().equals(first) ? preferred : others).add(one);
        }
        preferred.addAll(others);
        return preferred;
    }

    /**
     * Returns at most {@code limit} addresses of candidates, with a port. Each interface gets one address before any
     * gets a second, so that an interface with many addresses does not hide another. Loopback addresses, which lead to
     * no other host, come last.
     */
    public static List<InetSocketAddress> withPort(List<InterfaceCandidate> candidates, int port, int limit) {
        Map<String, Integer> taken = new HashMap<>(); // by interface
        Map<InterfaceCandidate, Integer> turns = new LinkedHashMap<>();
        for (InterfaceCandidate candidate : candidates) {
            boolean last = candidate.address().isLoopbackAddress() && !turns.isEmpty();
            turns.put(candidate, last ? Integer.MAX_VALUE : taken.merge(candidate.name(), 1, Integer::sum));
        }
        return turns.keySet().stream()
                .sorted(Comparator.comparing(turns::get)) // equal turns keep their order
                .limit(limit)
                .<InetSocketAddress>map(candidate -> new LocatedAddress(candidate.address(), port, NetworkStack.own()))
                .toList();
    }

    /**
     * Returns the address on which a server for these candidates listens: that of the only candidate, or null for all
     * addresses if there are several candidates.
     */
    public static InetAddress bindAddress(List<InterfaceCandidate> candidates) {
        return candidates.size() == 1 ? candidates.get(0).address() : null;
    }
}
