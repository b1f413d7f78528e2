package io.jccl.cli.doctor;

import io.jccl.BootstrapException;
import io.jccl.CommunicatorConfig;
import io.jccl.config.Settings;
import io.jccl.internal.Causes;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.rendezvous.InterfaceCandidate;
import io.jccl.rendezvous.NetworkInterfaces;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Checks loopback, the network interfaces, and the settings and firewalls that separate them from other hosts. */
final class NetworkChecks {

    private static final int CONNECT_MILLIS = 2000;

    private NetworkChecks() {}

    /** Sends a byte over loopback, which ranks of one host use for the bootstrap. */
    static List<Finding> loopback(Host host) {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket client = new Socket()) {
            client.connect(new InetSocketAddress(server.getInetAddress(), server.getLocalPort()), CONNECT_MILLIS);
            try (Socket accepted = server.accept()) {
                client.getOutputStream().write(42);
                accepted.setSoTimeout(CONNECT_MILLIS);
                return List.of(
                        accepted.getInputStream().read() == 42
                                ? Finding.ok("loopback", server.getInetAddress().getHostAddress() + " answers")
                                : broken("a byte was lost"));
            }
        } catch (IOException e) {
            return List.of(broken(Causes.describe(e)));
        }
    }

    private static Finding broken(String reason) {
        return Finding.fail("loopback", "no connection to this host itself: " + reason, "ip link set lo up");
    }

    /** Reports the interfaces in the order in which ranks on several hosts try them. */
    static List<Finding> interfaces(Host host) {
        List<InterfaceCandidate> candidates;
        try {
            candidates = candidates(host);
        } catch (BootstrapException | IllegalArgumentException e) {
            return List.of(
                    Finding.fail("interfaces", Causes.describe(e), "correct JCCL_SOCKET_IFNAME or JCCL_SOCKET_FAMILY"));
        }
        List<String> usable = candidates.stream()
                .filter(InterfaceCandidate::usable)
                .map(candidate ->
                        candidate.name() + " " + candidate.address().getHostAddress() + " (" + candidate.reason() + ")")
                .toList();
        if (usable.isEmpty()) {
            return List.of(Finding.fail(
                    "interfaces",
                    "none may be used: "
                            + candidates.stream()
                                    .map(c -> c.name() + ": " + c.reason())
                                    .collect(Collectors.joining("; ")),
                    "bring one up, or widen JCCL_SOCKET_IFNAME"));
        }
        boolean reachable =
                candidates.stream().anyMatch(c -> c.usable() && !c.address().isLoopbackAddress());
        String seen = "best first: " + String.join(", ", usable);
        return List.of(
                reachable
                        ? Finding.ok("interfaces", seen)
                        : Finding.warn(
                                "interfaces",
                                seen + ": other hosts cannot reach this one",
                                "fine on one host; else bring up an interface to the other hosts"));
    }

    private static List<InterfaceCandidate> candidates(Host host) {
        Settings settings = Settings.load(CommunicatorConfig.defaults(), System::getProperty, host.environment());
        return NetworkInterfaces.candidates(BootstrapOptions.defaults("doctor").withInterfaces(settings));
    }

    /** Checks that this host can connect to ports that it opens on its own addresses. */
    static List<Finding> ownAddresses(Host host) {
        try {
            return ownAddresses(candidates(host), NetworkChecks::connectTo);
        } catch (BootstrapException | IllegalArgumentException e) {
            return List.of(); // the check of the interfaces reports it
        }
    }

    static List<Finding> ownAddresses(
            List<InterfaceCandidate> candidates, Function<InetAddress, Optional<String>> connect) {
        List<String> answering = new ArrayList<>();
        List<Finding> findings = new ArrayList<>();
        for (InterfaceCandidate one : candidates) {
            if (!one.usable()) {
                continue;
            }
            String where = one.name() + " " + one.address().getHostAddress();
            Optional<String> failure = connect.apply(one.address());
            if (failure.isEmpty()) {
                answering.add(where);
            } else {
                findings.add(Finding.warn(
                        "own-addresses",
                        where + ": a port that listens there cannot be connected to from this same host ("
                                + failure.get() + "): a firewall drops it, so ranks that can reach others cannot be"
                                + " reached by them",
                        "let the ports of net.ipv4.ip_local_port_range in from the job's hosts (nft list ruleset,"
                                + " iptables -S), or leave the interface out: JCCL_SOCKET_IFNAME=^=" + one.name()));
            }
        }
        if (!answering.isEmpty()) {
            findings.add(0, Finding.ok("own-addresses", "connected: " + String.join(", ", answering)));
        }
        return findings;
    }

    private static Optional<String> connectTo(InetAddress address) {
        try (ServerSocket server = new ServerSocket(0, 1, address);
                Socket client = new Socket()) {
            client.bind(new InetSocketAddress(address, 0));
            client.connect(new InetSocketAddress(address, server.getLocalPort()), CONNECT_MILLIS);
            return Optional.empty();
        } catch (IOException e) {
            return Optional.of(Causes.describe(e));
        }
    }

    /** Warns if the network cards of this host have different MTUs. */
    static List<Finding> mtus(Host host) {
        Map<Long, List<String>> bySize = new TreeMap<>();
        for (String name : cards(host)) {
            mtu(host, name).ifPresent(mtu -> bySize.computeIfAbsent(mtu, any -> new ArrayList<>())
                    .add(name));
        }
        String seen = bySize.isEmpty()
                ? "no card has a link"
                : bySize.entrySet().stream()
                        .map(one -> one.getKey() + " bytes on " + String.join(", ", one.getValue()))
                        .collect(Collectors.joining("; "));
        return List.of(
                bySize.size() <= 1
                        ? Finding.ok("mtu", seen)
                        : Finding.warn(
                                "mtu",
                                seen + ": cards differ; if the two ends of a connection differ, large packets are lost"
                                        + " and transfers hang, although small packets arrive",
                                "give all cards of a network, on all hosts, one size: ip link set NAME mtu BYTES"));
    }

    /**
     * Warns if there are several cards and the kernel has a strict reverse-path filter: it drops a packet that arrives
     * on another card than the one by which the kernel would answer.
     */
    static List<Finding> reversePathFilter(Host host) {
        List<String> cards = cards(host);
        String all = "/proc/sys/net/ipv4/conf/all/rp_filter";
        List<String> strict = cards.stream()
                .filter(name ->
                        Math.max(number(host, all), number(host, "/proc/sys/net/ipv4/conf/" + name + "/rp_filter"))
                                == 1)
                .toList();
        return List.of(
                cards.size() < 2 || strict.isEmpty()
                        ? Finding.ok(
                                "rp-filter",
                                cards.size() + " cards with a link, strict on "
                                        + (strict.isEmpty() ? "none" : String.join(", ", strict)))
                        : Finding.warn(
                                "rp-filter",
                                "strict on " + String.join(", ", strict) + " of the cards " + String.join(", ", cards)
                                        + ": between cards of one network, connections work one way and not the other",
                                "sysctl -w net.ipv4.conf.all.rp_filter=2"));
    }

    private static long number(Host host, String file) {
        return host.read(file)
                .filter(text -> text.matches("\\d{1,9}"))
                .map(Long::parseLong)
                .orElse(0L);
    }

    /** Returns the names of the network interfaces that belong to hardware and have a link. */
    private static List<String> cards(Host host) {
        return host.list("/sys/class/net").stream()
                .filter(name -> host.exists("/sys/class/net/" + name + "/device"))
                .filter(name -> host.read("/sys/class/net/" + name + "/operstate")
                        .orElse("")
                        .equals("up"))
                .toList();
    }

    static OptionalLong mtu(Host host, String name) {
        long mtu = number(host, "/sys/class/net/" + name + "/mtu");
        return mtu > 0 ? OptionalLong.of(mtu) : OptionalLong.empty();
    }
}
