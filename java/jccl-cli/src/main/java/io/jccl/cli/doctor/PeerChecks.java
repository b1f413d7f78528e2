package io.jccl.cli.doctor;

import io.jccl.BootstrapException;
import io.jccl.CommunicatorConfig;
import io.jccl.JcclException;
import io.jccl.cli.doctor.PeerProbe.Attempt;
import io.jccl.cli.doctor.PeerProbe.Place;
import io.jccl.cli.doctor.PeerProbe.Result;
import io.jccl.config.LaunchSettings;
import io.jccl.config.Settings;
import io.jccl.config.TimeSettings;
import io.jccl.internal.Causes;
import io.jccl.launch.Launch;
import io.jccl.launch.LauncherEnvironment;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.wire.RankList;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Derives findings about the networks between ranks from the attempts of all ranks to connect to all others. */
final class PeerChecks {

    private static final String PROTOCOL = "jccl doctor --peers, version 2"; // version of PeerProbe's messages
    private static final String PEERS = "peers";
    private static final String ADDRESSES = "peer-addresses";
    private static final String PACKETS = "peer-packets";
    private static final String LARGE = "large";
    private static final String MTU_REMEDY =
            "the path drops packets of the interfaces' MTU: give all hosts and switches between %s and %s one MTU, or lower"
                    + " that of the interfaces (ip link set DEVICE mtu 1400, try ping -M do -s 1372), or let ICMP"
                    + " \"fragmentation needed\" (IPv6: \"packet too big\") through firewalls; sysctl"
                    + " net.ipv4.tcp_mtu_probing=1 helps until then";
    private static final String REMEDY =
            "let the ports of net.ipv4.ip_local_port_range of %s in from %s (nft list ruleset,"
                    + " iptables -S, the rules of the network), or choose other interfaces with JCCL_SOCKET_IFNAME";

    /** A kind of failure between two hosts. All pairs of ranks with the same trouble become one finding. */
    private record Trouble(String kind, String fromHost, String toHost) {}

    private static final class Members {
        private final TreeSet<Integer> from = new TreeSet<>();
        private final TreeSet<Integer> to = new TreeSet<>();
        private String example = "";
    }

    private final Result result;
    private final Map<List<Integer>, List<Attempt>> byPair;

    private PeerChecks(Result result) {
        this.result = result;
        this.byPair = result.attempts().stream()
                .collect(Collectors.groupingBy(
                        one -> List.of(one.from(), one.to()), LinkedHashMap::new, Collectors.toList()));
    }

    /**
     * Joins the other ranks of the launch and connects to them. Rank 0 returns the findings of all ranks. Another rank
     * returns a finding only if it could not join or exchange its results.
     *
     * @throws BootstrapException if the environment has no launcher's variables
     */
    static List<Finding> examine(Host host) {
        Settings settings = Settings.load(CommunicatorConfig.defaults(), System::getProperty, host.environment());
        Launch launch = LauncherEnvironment.detect(host.environment());
        BootstrapOptions options = BootstrapOptions.defaults(PROTOCOL)
                .withInitTimeout(settings.get(TimeSettings.INIT_TIMEOUT))
                .withInterfaces(settings);
        String hostId = settings.get(LaunchSettings.HOST_ID)
                .or(() -> host.read("/proc/sys/kernel/hostname"))
                .orElse("a host");
        try {
            Result result = PeerProbe.run(launch, hostId, options);
            return launch.rank() == 0 ? judge(result) : List.of();
        } catch (JcclException | UncheckedIOException e) {
            return List.of(Finding.fail(
                    PEERS,
                    "rank " + launch.rank() + " of " + launch.size() + " does not reach the others: "
                            + Causes.describe(e),
                    "start all ranks with --peers; let the port of JCCL_RENDEZVOUS and the ports of"
                            + " net.ipv4.ip_local_port_range of rank 0's host in from all hosts"));
        }
    }

    /** Returns the findings, ordered by the first pair of ranks that each concerns. */
    static List<Finding> judge(Result result) {
        return new PeerChecks(result).findings();
    }

    private List<Finding> findings() {
        Map<Trouble, Members> troubles = new LinkedHashMap<>();
        int size = result.places().size();
        for (int from = 0; from < size; from++) {
            for (int to = 0; to < size; to++) {
                if (from != to) {
                    check(from, to, troubles);
                }
            }
        }
        List<Finding> findings = new ArrayList<>();
        troubles.forEach((trouble, members) -> findings.add(describe(trouble, members)));
        if (findings.stream().noneMatch(one -> one.check().equals(PEERS))) {
            findings.add(0, Finding.ok(PEERS, summary()));
        }
        return findings;
    }

    private void check(int from, int to, Map<Trouble, Members> troubles) {
        if (!reaches(from, to)) {
            note(reaches(to, from) ? "one way" : "neither way", from, to, troubles);
            return;
        }
        attempts(from, to).stream()
                .filter(one -> !one.worked())
                .forEach(one -> note("address " + one.address().getAddress().getHostAddress(), from, to, troubles));
        if (attempts(from, to).stream().anyMatch(one -> !one.large().isEmpty())) {
            note(LARGE, from, to, troubles);
        }
    }

    private void note(String kind, int from, int to, Map<Trouble, Members> troubles) {
        Trouble trouble = new Trouble(kind, hostOf(from), hostOf(to));
        Members members = troubles.computeIfAbsent(trouble, any -> new Members());
        members.from.add(from);
        members.to.add(to);
        if (members.example.isEmpty()) {
            members.example = attempts(from, to).stream()
                    .filter(one -> kind.equals(LARGE) ? !one.large().isEmpty() : !one.worked())
                    .map(one -> one.address() + ": " + (kind.equals(LARGE) ? one.large() : one.failure()))
                    .findFirst()
                    .orElse("they have no address of a common family, IPv4 or IPv6");
        }
    }

    private Finding describe(Trouble trouble, Members members) {
        String from = "ranks " + RankList.text(members.from) + " on " + trouble.fromHost();
        String to = "ranks " + RankList.text(members.to) + " on " + trouble.toHost();
        String remedy = REMEDY.formatted(trouble.toHost(), trouble.fromHost());
        return switch (trouble.kind()) {
            case "one way" -> Finding.fail(
                    PEERS,
                    from + " cannot connect to " + to + ", which connect to them: a firewall or a route that works one"
                            + " way only (" + members.example + ")",
                    remedy);
            case LARGE -> Finding.fail(
                    PACKETS,
                    from + " connect to " + to + ", but full-sized packets do not arrive there (" + members.example
                            + "): operations on more than a packet would wait until their time-out",
                    MTU_REMEDY.formatted(trouble.fromHost(), trouble.toHost()));
            case "neither way" -> Finding.fail(
                    PEERS, from + " cannot connect to " + to + ", nor they back (" + members.example + ")", remedy);
            default -> Finding.warn(
                    ADDRESSES,
                    from + " cannot connect to " + to + " by " + trouble.kind() + ", and lose time before they use"
                            + " another one (" + members.example + ")",
                    remedy);
        };
    }

    private String summary() {
        long hosts = result.places().stream().map(Place::host).distinct().count();
        String slowest = result.attempts().stream()
                .filter(Attempt::worked)
                .max(Comparator.comparingLong(Attempt::micros))
                .map(one -> "; the slowest is " + one.from() + " to " + one.to() + " at " + one.address() + " with "
                        + one.micros() + " us")
                .orElse("");
        boolean allPass = result.attempts().stream().allMatch(one -> one.large().isEmpty());
        return result.places().size() + " ranks on " + hosts + " hosts: each connects to all others" + slowest
                + (allPass ? "; full-sized packets arrive everywhere" : "");
    }

    private boolean reaches(int from, int to) {
        return attempts(from, to).stream().anyMatch(Attempt::worked);
    }

    private List<Attempt> attempts(int from, int to) {
        return byPair.getOrDefault(List.of(from, to), List.of());
    }

    private String hostOf(int rank) {
        return result.places().get(rank).host();
    }
}
