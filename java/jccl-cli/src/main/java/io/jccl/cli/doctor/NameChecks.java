package io.jccl.cli.doctor;

import io.jccl.BootstrapException;
import io.jccl.device.HostIdentity;
import io.jccl.internal.Causes;
import io.jccl.launch.Launch;
import io.jccl.launch.LauncherEnvironment;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;

/** Checks the addresses of this host's own name and of the rendezvous host's name, as this host resolves them. */
final class NameChecks {

    /** A name service. */
    interface Resolver {

        InetAddress[] resolve(String name) throws UnknownHostException;
    }

    private static final int SLOW_MILLIS = 1000;
    private static final int LIMIT_MILLIS = 5000;
    private static final String RENDEZVOUS = "JCCL_RENDEZVOUS";

    private NameChecks() {}

    static List<Finding> hostName(Host host) {
        return hostName(HostIdentity.hostName(), InetAddress::getAllByName);
    }

    static List<Finding> hostName(String name, Resolver resolver) {
        long begin = System.nanoTime();
        Optional<List<InetAddress>> addresses = lookUp(name, resolver);
        long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin);
        if (addresses.isEmpty()) {
            return List.of(Finding.warn(
                    "host-name",
                    "this host's own name " + name + " does not resolve (" + millis + " ms)",
                    "add the name to /etc/hosts, or mend /etc/resolv.conf"));
        }
        String seen = name + " is " + text(addresses.get()) + " (" + millis + " ms)";
        if (onlyLoopback(addresses.get())) {
            return List.of(Finding.warn(
                    "host-name",
                    seen + ": a loopback address, which processes here cannot pass on to other hosts; and a copy of"
                            + " this /etc/hosts on another host directs its ranks to that host itself",
                    "give " + name + " in /etc/hosts the address by which other hosts reach this one"));
        }
        return List.of(
                millis < SLOW_MILLIS
                        ? Finding.ok("host-name", seen)
                        : Finding.warn(
                                "host-name", seen + ": slow", "add the name to /etc/hosts, or mend /etc/resolv.conf"));
    }

    static List<Finding> rendezvous(Host host) {
        return rendezvous(host.environment(), InetAddress::getAllByName);
    }

    /**
     * Checks the rendezvous host that the launcher's variables, or {@code JCCL_RENDEZVOUS} alone, name. Returns no
     * finding if neither is set.
     */
    static List<Finding> rendezvous(Map<String, String> environment, Resolver resolver) {
        Optional<Launch> launch;
        try {
            launch = launch(environment);
        } catch (BootstrapException | IllegalArgumentException e) {
            return List.of(Finding.warn("rendezvous", Causes.describe(e), "set what is missing, or unset the others"));
        }
        if (launch.isEmpty() || !(launch.get().rendezvous() instanceof Launch.Address address)) {
            return List.of();
        }
        String seen = "host=" + address.host() + " port=" + address.port();
        if (address.onlyLoopback().isPresent()) {
            return List.of(Finding.ok("rendezvous", seen + " for ranks of this host only"));
        }
        Optional<List<InetAddress>> addresses = lookUp(address.host(), resolver);
        if (addresses.isEmpty()) {
            return List.of(Finding.warn(
                    "rendezvous",
                    seen + " has no address here; ranks look it up again until JCCL_INIT_TIMEOUT",
                    "correct the name, or wait until it is known"));
        }
        seen += " is " + text(addresses.get());
        return List.of(
                onlyLoopback(addresses.get())
                        ? Finding.warn(
                                "rendezvous",
                                seen + " here, which is this host itself: right only where rank 0 runs",
                                "on all other hosts, give " + address.host()
                                        + " in /etc/hosts the address by which they reach rank 0's host")
                        : Finding.ok("rendezvous", seen));
    }

    /**
     * Returns the launch that the launcher's variables, or {@code JCCL_RENDEZVOUS} alone, describe; empty if neither is
     * set.
     *
     * @throws BootstrapException if variables are missing
     * @throws IllegalArgumentException if a value is malformed
     */
    static Optional<Launch> launch(Map<String, String> environment) {
        String explicit = environment.getOrDefault(RENDEZVOUS, "");
        return LauncherEnvironment.find(
                explicit.isBlank() ? environment : Map.of("JCCL_RANK", "0", "JCCL_SIZE", "1", RENDEZVOUS, explicit));
    }

    private static Optional<List<InetAddress>> lookUp(String name, Resolver resolver) {
        try {
            return CompletableFuture.supplyAsync(() -> {
                        try {
                            return Optional.of(Arrays.asList(resolver.resolve(name)));
                        } catch (UnknownHostException e) {
                            return Optional.<List<InetAddress>>empty();
                        }
                    })
                    .get(LIMIT_MILLIS, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            return Optional.empty();
        } catch (ExecutionException e) {
            throw new IllegalStateException("looking up name=" + name + " failed", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
    }

    private static boolean onlyLoopback(List<InetAddress> addresses) {
        return addresses.stream().allMatch(InetAddress::isLoopbackAddress);
    }

    private static String text(List<InetAddress> addresses) {
        return addresses.stream().map(InetAddress::getHostAddress).distinct().collect(Collectors.joining(" "));
    }
}
