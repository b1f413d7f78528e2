package io.jccl.bootstrap;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Kinds of interfaces, in the order in which their addresses are offered to other hosts. */
enum LinkKind {
    /** A card, what is built on one, or what has the default route. */
    REAL,
    /** A VPN, which may be the only network that the hosts share. */
    TUNNEL,
    /** A network of containers or virtual machines of this host; many hosts have the same addresses in theirs. */
    CONTAINERS;

    private static final List<String> TUNNELS =
            List.of("tun tap utun wg tailscale zt nebula nordlynx ppp ipsec".split(" "));

    private static final List<String> OF_CONTAINERS = List.of(
            ("docker br- veth virbr vnet vmnet vboxnet cni flannel cali wireguard.cali tunl vxlan cilium lxc lxd incus"
                            + " podman nerdctl kube weave nodelocaldns antrea ovn ovs genev dummy")
                    .split(" "));

    /** The kinds of this host's interfaces, as one look at its routes and at sysfs shows them. */
    static final class Finder {

        private static final String ANY_IPV4 = "00000000";
        private static final String ANY_IPV6 = "0".repeat(32);

        private final Path links;
        private final Set<String> withDefaultRoute = new HashSet<>();

        /** @param root of the file system, / where this is no test */
        Finder(Path root) {
            links = root.resolve("sys/class/net");
            for (String[] route : rows(root.resolve("proc/net/route"))) {
                if (route.length > 7 && route[1].equals(ANY_IPV4) && route[7].equals(ANY_IPV4)) {
                    withDefaultRoute.add(route[0]);
                }
            }
            for (String[] route : rows(root.resolve("proc/net/ipv6_route"))) {
                if (route.length > 9 && route[0].equals(ANY_IPV6) && route[1].equals("00")) {
                    withDefaultRoute.add(route[9]); // lo too, for what is not reachable
                }
            }
        }

        private static List<String[]> rows(Path table) {
            try {
                return Files.readAllLines(table).stream()
                        .map(line -> line.trim().split("\\s+"))
                        .toList();
            } catch (IOException e) {
                return List.of(); // no such family, or not Linux
            }
        }

        /** The kind of an interface; by its name alone where sysfs does not show it. */
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

        /** Returns true if a link is a card, or carries data over one: a bridge with a card as member, a bond, a VLAN. */
        private boolean isOnCard(Path link, int depth) {
            if (Files.exists(link.resolve("device"))) {
                return true;
            }
            if (depth == 4) {
                return false; // a bridge over a VLAN over a bond, at most
            }
            try (DirectoryStream<Path> lower = Files.newDirectoryStream(link, "lower_*")) {
                for (Path one : lower) {
                    String below = one.getFileName().toString().substring("lower_".length());
                    if (isOnCard(links.resolve(below), depth + 1)) {
                        return true;
                    }
                }
            } catch (IOException | DirectoryIteratorException e) {
                return false; // it disappeared meanwhile, or there is no sysfs
            }
            return false;
        }
    }

    /** Returns the kind that an interface's name suggests. */
    static LinkKind named(String name) {
        if (OF_CONTAINERS.stream().anyMatch(name::startsWith)) {
            return CONTAINERS; // tunl0 begins as a VPN does
        }
        return TUNNELS.stream().anyMatch(name::startsWith) ? TUNNEL : REAL;
    }
}
