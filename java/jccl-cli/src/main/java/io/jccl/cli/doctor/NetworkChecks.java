package io.jccl.cli.doctor;

import io.jccl.BootstrapException;
import io.jccl.CommunicatorConfig;
import io.jccl.bootstrap.BootstrapOptions;
import io.jccl.bootstrap.InterfaceCandidate;
import io.jccl.bootstrap.NetworkInterfaces;
import io.jccl.config.Registry;
import io.jccl.config.Settings;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Names, loopback and interfaces. */
final class NetworkChecks {

    private static final int CONNECT_MILLIS = 2000;
    private static final int SLOW_NAME_MILLIS = 1000;
    private static final int NAME_MILLIS = 5000;

    private NetworkChecks() {}

    /** A round trip over loopback, which ranks of one machine use to meet. */
    static List<Finding> loopback(Machine machine) {
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
            return List.of(broken(e.getMessage()));
        }
    }

    private static Finding broken(String reason) {
        return Finding.fail("loopback", "no connection to this machine itself: " + reason, "ip link set lo up");
    }

    /** The interfaces in the order in which ranks on several machines try them. */
    static List<Finding> interfaces(Machine machine) {
        List<InterfaceCandidate> candidates;
        try {
            Settings settings =
                    Settings.load(CommunicatorConfig.defaults(), System::getProperty, machine.environment());
            candidates = NetworkInterfaces.candidates(BootstrapOptions.defaults("doctor")
                    .withInterfaces(settings.text(Registry.SOCKET_IFNAME), settings.text(Registry.SOCKET_FAMILY)));
        } catch (BootstrapException | IllegalArgumentException e) {
            return List.of(
                    Finding.fail("interfaces", e.getMessage(), "correct JCCL_SOCKET_IFNAME or JCCL_SOCKET_FAMILY"));
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
                                    .toList(),
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
                                seen + ": other machines cannot reach this one",
                                "fine on one machine; else bring up an interface to the other machines"));
    }

    static List<Finding> hostName(Machine machine) {
        long begin = System.nanoTime();
        try {
            InetAddress address =
                    CompletableFuture.supplyAsync(NetworkChecks::localHost).get(NAME_MILLIS, TimeUnit.MILLISECONDS);
            long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin);
            String seen = (address == null
                            ? "this machine's own name does not resolve"
                            : address.getHostName() + " is " + address.getHostAddress())
                    + " (" + millis + " ms)";
            if (address == null) {
                return List.of(Finding.warn("host-name", seen, "add the name to /etc/hosts"));
            }
            return List.of(
                    millis < SLOW_NAME_MILLIS
                            ? Finding.ok("host-name", seen)
                            : Finding.warn(
                                    "host-name",
                                    seen + ": slow",
                                    "add the name to /etc/hosts, or mend /etc/resolv.conf"));
        } catch (TimeoutException e) {
            return List.of(Finding.warn(
                    "host-name",
                    "this machine's own name does not resolve within " + NAME_MILLIS + " ms",
                    "add the name to /etc/hosts, or mend /etc/resolv.conf"));
        } catch (ExecutionException e) {
            throw new IllegalStateException("resolving the host name failed", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return List.of();
        }
    }

    private static InetAddress localHost() {
        try {
            return InetAddress.getLocalHost();
        } catch (IOException e) {
            return null;
        }
    }
}
