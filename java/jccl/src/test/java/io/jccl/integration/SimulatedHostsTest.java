package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.nativelib.NativeSockets;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks on simulated hosts, each a network namespace: slow and lossy networks, and hosts that are lost. */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SimulatedHostsTest {

    private static final int HOSTS = 4;
    private static final int RANKS = 2 * HOSTS;
    private static final Duration LIMIT = Duration.ofSeconds(120);
    // Longer than a partition of 3 s plus the pause before TCP retransmits. Older kernels double the pause after each
    // retransmission, up to 6.4 s here.
    private static final long TIMEOUT_MILLIS = 10_000;

    @TempDir
    Path folder;

    @BeforeAll
    static void requireNamespaces() {
        Optional<String> reasonUnavailable = SimulatedHosts.reasonUnavailable();
        assumeTrue(reasonUnavailable.isEmpty(), reasonUnavailable.orElse(""));
    }

    private ProcessRanks twoRanksOnEach(SimulatedHosts hosts, String scenario, String... arguments) {
        return ProcessRanks.startLaunched(
                folder,
                RANKS,
                rank -> hosts.inside(rank / 2, rank, RANKS, SimulatedHosts.rendezvousAt("10.88.0.1")),
                scenario,
                arguments);
    }

    private static void requireEnd(ProcessRanks ranks, int rank, String output) throws InterruptedException {
        assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks::allOutput).isZero();
        assertThat(ranks.output(rank)).as(ranks::allOutput).contains(output);
    }

    @ParameterizedTest
    @ValueSource(strings = {"--loss 1", "--rate 50"})
    void everyCollectiveIsRightOverABadNetwork(String network) throws Exception {
        try (SimulatedHosts hosts = start(HOSTS, network);
                ProcessRanks ranks = twoRanksOnEach(hosts, "launched-sample", "20")) {
            for (int rank = 0; rank < RANKS; rank++) {
                requireEnd(ranks, rank, "RESULT ok");
            }
            assertThat(ranks.output(0)).contains("TRANSPORTS [1:shm, 2:socket, 3:socket, 4:socket");
        }
    }

    private static SimulatedHosts start(int count, String options) {
        return SimulatedHosts.start(
                ("--machines " + count + " " + options).trim().split(" "));
    }

    @Test
    void aPartitionThatHealsInTimeIsSurvivedAndOneThatDoesNotNamesTheLostRanks() throws Exception {
        try (SimulatedHosts hosts = start(HOSTS, "");
                ProcessRanks ranks = twoRanksOnEach(hosts, "launched-work", Long.toString(TIMEOUT_MILLIS))) {
            for (int rank = 0; rank < RANKS; rank++) {
                ranks.awaitOutput(rank, output -> output.contains("READY"), LIMIT);
            }
            hosts.linkDown(3);
            pause(3000);
            hosts.linkUp(3);
            for (int rank = 0; rank < RANKS; rank++) {
                ranks.awaitOutput(rank, output -> output.contains("WENT ON after "), LIMIT);
                assertThat(ranks.output(rank)).doesNotContain("FAILED").doesNotContain("WRONG");
            }
            hosts.linkDown(3);
            for (int rank = 0; rank < RANKS; rank++) {
                requireEnd(ranks, rank, "FAILED after ");
                requireFailure(ranks.output(rank), rank < 6);
            }
        }
    }

    /**
     * The link is down for 8 s, and a silent connection fails after 12 s. By default a kernel retransmits 6.2 s after
     * the first transmission, while the link is down, and next after 12.6 s, which is too late. A kernel that
     * retransmits every second has four attempts from 8 s to 12 s. One attempt is enough; the others are for slow
     * hosts.
     */
    @Test
    void partitionOfHalfTheHeartbeatTimeOutHeals() throws Exception {
        try (SocketChannel any = SocketChannel.open()) {
            assumeTrue(NativeSockets.boundRepetitions(any), "this kernel has no TCP_RTO_MAX_MS");
        }
        try (SimulatedHosts hosts = start(2, "");
                ProcessRanks ranks = ProcessRanks.startLaunched(
                        folder,
                        2,
                        rank -> hosts.inside(
                                rank, rank, 2, SimulatedHosts.rendezvousAt("10.88.0.1"), "JCCL_HEARTBEAT_TIMEOUT=16s"),
                        "launched-work",
                        "60000")) {
            for (int rank = 0; rank < 2; rank++) {
                ranks.awaitOutput(rank, output -> output.contains("READY"), LIMIT);
            }
            hosts.linkDown(1);
            pause(8000);
            hosts.linkUp(1);
            pause(6000); // by now a connection that stayed silent has failed
            for (int rank = 0; rank < 2; rank++) {
                ranks.awaitOutput(rank, output -> output.contains("WENT ON after "), LIMIT);
                assertThat(ranks.output(rank)).doesNotContain("FAILED").doesNotContain("WRONG");
            }
        }
    }

    @Test
    void aHostThatDropsIngressIsNamedEvenIfItIsTheFirst() throws Exception {
        try (SimulatedHosts hosts = start(2, "");
                ProcessRanks ranks = ProcessRanks.startLaunched(
                        folder,
                        2,
                        rank -> hosts.inside(rank, rank, 2, SimulatedHosts.rendezvousAt("10.88.0.1")),
                        "launched-work",
                        "2000")) {
            for (int rank = 0; rank < 2; rank++) {
                ranks.awaitOutput(rank, output -> output.contains("READY"), LIMIT);
            }
            hosts.dropIngress(0);
            for (int rank = 0; rank < 2; rank++) {
                requireEnd(ranks, rank, "FAILED after ");
            }
            assertThat(ranks.output(1))
                    .containsPattern("FAILED after \\d+ ms (PeerFailed|CommunicationTimeout)Exception\\[0\\]");
        }
    }

    /**
     * Requires that survivors name both ranks of the lost host, and that no rank takes much longer than the time-out.
     */
    private static void requireFailure(String output, boolean survivor) {
        var failure = Pattern.compile("FAILED after (\\d+) ms (\\w+)(.*)").matcher(output);
        assertThat(failure.find()).as(output).isTrue();
        assertThat(Long.parseLong(failure.group(1))).as(output).isBetween(0L, 2 * TIMEOUT_MILLIS);
        if (survivor) {
            assertThat(failure.group(2)).as(output).isIn("PeerFailedException", "CommunicationTimeoutException");
            assertThat(failure.group(3)).as(output).isEqualTo("[6, 7]");
        }
    }

    @Test
    void hostWithoutIpv4UsesIpv6ToJoinHostsThatPreferIpv4() throws Exception {
        try (SimulatedHosts hosts = start(3, "")) {
            hosts.run(2, "ip", "-4", "address", "flush", "dev", "eth0");
            String[] addresses = {"10.88.0.1", "10.88.0.1", "[fd88:0::1]"};
            try (ProcessRanks ranks = ProcessRanks.startLaunched(
                    folder,
                    3,
                    rank -> hosts.inside(rank, rank, 3, SimulatedHosts.rendezvousAt(addresses[rank])),
                    "launched-sample",
                    "10")) {
                for (int rank = 0; rank < 3; rank++) {
                    requireEnd(ranks, rank, "RESULT ok");
                }
            }
        }
    }

    @Test
    void twoInterfacesWithOnlyIpv6ShareTheStreamsOfAConnection() throws Exception {
        try (SimulatedHosts hosts = start(2, "--interfaces 2 --family 6");
                ProcessRanks ranks = ProcessRanks.startLaunched(
                        folder,
                        2,
                        rank -> hosts.inside(
                                rank,
                                rank,
                                2,
                                SimulatedHosts.rendezvousAt("[fd88:0::1]"),
                                "JCCL_SOCKET_IFNAME==eth0,eth1",
                                "JCCL_NSOCKS_PERTHREAD=4"),
                        "launched-sample",
                        "80")) {
            for (int rank = 0; rank < 2; rank++) {
                requireEnd(ranks, rank, "RESULT ok");
            }
            for (String name : List.of("eth0", "eth1")) {
                assertThat(hosts.sentBytes(1, name)).as(name).isGreaterThan(200_000);
            }
        }
    }

    /**
     * Each host's topology file has one device, which is not the first interface. The files of the hosts give the
     * device different numbers.
     */
    @Test
    void dataUsesTheDeviceThatThePlanNames() throws Exception {
        List<Path> descriptions = List.of(describeHost("one.xml", 0, 0), describeHost("other.xml", 1, 5));
        try (SimulatedHosts hosts = start(2, "--interfaces 2");
                ProcessRanks ranks = ProcessRanks.startLaunched(
                        folder,
                        2,
                        rank -> hosts.inside(
                                rank,
                                rank,
                                2,
                                SimulatedHosts.rendezvousAt("10.88.0.1"),
                                "JCCL_SOCKET_IFNAME==eth0,eth1",
                                "JCCL_TOPO_FILE=" + descriptions.get(rank)),
                        "launched-sample",
                        "80")) {
            for (int rank = 0; rank < 2; rank++) {
                requireEnd(ranks, rank, "RESULT ok");
            }
            assertThat(hosts.sentBytes(1, "eth1")).isGreaterThan(400_000);
            assertThat(hosts.sentBytes(1, "eth0")).as("control messages only").isLessThan(200_000);
        }
    }

    /** By default on Debian, a host resolves its own name to a loopback address; other hosts resolve it correctly. */
    @Test
    void rendezvousNameThatIsLoopbackOnItsOwnHostWorksForTheOthers() throws Exception {
        List<Path> names = List.of(
                Files.writeString(folder.resolve("names0"), "127.0.1.1 nodea\n"),
                Files.writeString(folder.resolve("names1"), "10.88.0.1 nodea\n"));
        try (SimulatedHosts hosts = start(2, "");
                ProcessRanks ranks = ProcessRanks.startLaunched(
                        folder,
                        3,
                        rank -> hosts.inside(
                                rank / 2,
                                rank,
                                3,
                                SimulatedHosts.rendezvousAt("nodea"),
                                "JAVA_TOOL_OPTIONS=-Djdk.net.hosts.file=" + names.get(rank / 2)),
                        "launched-sample",
                        "10")) {
            for (int rank = 0; rank < 3; rank++) {
                requireEnd(ranks, rank, "RESULT ok");
            }
        }
    }

    private Path describeHost(String name, int rank, int dev) throws IOException {
        return Files.writeString(
                folder.resolve(name),
                "<system version='1'><cpu numaid='0' arch='x86_64'><host rank='" + rank
                        + "'/><nic><net name='eth1' dev='" + dev + "' speed='10000'/></nic></cpu></system>");
    }

    private static void pause(long millis) throws InterruptedException {
        new CountDownLatch(1).await(millis, TimeUnit.MILLISECONDS);
    }
}
