package io.jccl.rendezvous;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Kinds of network interfaces, in the order in which their addresses are offered to other hosts. */
enum LinkKind {
    /** A network card, an interface that is built on one, or the interface of the default route. */
    REAL,
    /** A VPN, which may be the only network that the hosts share. */
    TUNNEL,
    /**
     * A network of containers or virtual machines of this host. Many hosts use the same addresses for such networks.
     */
    CONTAINERS;

    private static final List<String> TUNNELS =
            List.of("tun tap utun wg tailscale zt nebula nordlynx ppp ipsec".split(" "));

    private static final List<String> OF_CONTAINERS = List.of(
            ("docker br- veth virbr vnet vmnet vboxnet cni flannel cali wireguard.cali tunl vxlan cilium lxc lxd incus"
                            + " podman nerdctl kube weave nodelocaldns antrea ovn ovs genev dummy")
                    .split(" "));

    /** Determines the kinds of this host's interfaces from its routes, as they were at one moment, and from sysfs. */
    static final class Finder {

        private static final String ANY_IPV4 = "00000000";
        private static final String ANY_IPV6 = "0".repeat(32);

        private final Path links;
        private final Set<String> withDefaultRoute = new HashSet<>();

        /**
         * Reads the routes.
         *
         * @param root the root of the file system, which is / except in tests
         */
        Finder(Path root) {
            links = root.resolve("sys/class/net");
            for (String[] route : rows(root.resolve("proc/net/route"))) {
                if (route.length > 7 && route[1].equals(ANY_IPV4) && route[7].equals(ANY_IPV4)) {
                    withDefaultRoute.add(route[0]);
                }
            }
            for (String[] route : rows(root.resolve("proc/net/ipv6_route"))) {
                if (route.length > 9 && route[0].equals(ANY_IPV6) && route[1].equals("00")) {
                    // this also adds lo, which has a default route for unreachable addresses
                    withDefaultRoute.add(route[9]);
                }
            }
        }

        private static List<String[]> rows(Path table) {
            try {
                return Files.readAllLines(table).stream()
                        .map(line -> line.trim().split("\\s+"))
                        .toList();
            } catch (IOException e) {
                return List.of(); // the address family does not exist, or this is not Linux
            }
        }

        /** Returns the kind of an interface; if sysfs does not show the interface, the kind that its name suggests. */
        LinkKind of(String name) {
            LinkKind named = named(name);
            Path link = links.resolve(name);
            if (named == TUNNEL || named == REAL && isTunnel(link)) {
                return TUNNEL;
            }
            if (withDefaultRoute.contains(name) || isOnCard(link, 0)) {
                return REAL;
            }
            return Files.isDirectory(link.resolve("bridge")) || isType(link, "vxlan") || isType(link, "geneve")
                    ? CONTAINERS
                    : named;
        }

        private static boolean isTunnel(Path link) {
            return Files.exists(link.resolve("tun_flags")) || isType(link, "wireguard");
        }

        private static boolean isType(Path link, String type) {
            try {
                return Files.readAllLines(link.resolve("uevent")).contains("DEVTYPE=" + type);
            } catch (IOException e) {
                return false;
            }
        }

        /**
         * Returns true if a link is a card, or carries data over one: a bridge with a card as member, a bond, a VLAN.
         */
        private boolean isOnCard(Path link, int depth) {
            if (Files.exists(link.resolve("device"))) {
                return true;
            }
            if (depth == 4) {
                return false; // deep enough for a bridge over a VLAN over a bond
            }
            try (DirectoryStream<Path> lower = Files.newDirectoryStream(link, "lower_*")) {
                for (Path one : lower) {
                    String below = one.getFileName().toString().substring("lower_".length());
                    if (isOnCard(links.resolve(below), depth + 1)) {
                        return true;
                    }
                }
            } catch (IOException | DirectoryIteratorException e) {
                return false; // the link disappeared meanwhile, or there is no sysfs
            }
            return false;
        }
    }

    /** Returns the kind that an interface's name suggests. */
    static LinkKind named(String name) {
        if (OF_CONTAINERS.stream().anyMatch(name::startsWith)) {
            return CONTAINERS; // checked first, because tunl0 begins like the name of a VPN but is none
        }
        return TUNNELS.stream().anyMatch(name::startsWith) ? TUNNEL : REAL;
    }
}
