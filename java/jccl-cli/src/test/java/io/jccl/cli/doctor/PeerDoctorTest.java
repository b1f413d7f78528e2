package io.jccl.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.cli.doctor.Finding.Status;
import io.jccl.cli.doctor.PeerProbe.Attempt;
import io.jccl.cli.doctor.PeerProbe.Place;
import io.jccl.cli.doctor.PeerProbe.Result;
import io.jccl.launch.Launch;
import io.jccl.launch.LauncherEnvironment;
import io.jccl.rendezvous.BootstrapOptions;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests the findings of {@code jccl doctor --peers} about connections between ranks. */
@Timeout(60)
class PeerDoctorTest {

    private static final String DROPPED = "Connect timed out";

    /**
     * Returns the result of four ranks on two hosts, each of which has an IPv4 and an IPv6 address. {@code failures}
     * maps the connecting rank and the address to the failure of the attempt; empty text means success.
     */
    private static Result result(BiFunction<Integer, InetSocketAddress, String> failures) {
        List<Place> places = new ArrayList<>();
        for (int rank = 0; rank < 4; rank++) {
            places.add(new Place(
                    rank < 2 ? "alpha" : "beta",
                    List.of(
                            new InetSocketAddress("10.0.0." + (1 + rank / 2), 4000 + rank),
                            new InetSocketAddress("fd00::" + (1 + rank / 2), 4000 + rank))));
        }
        List<Attempt> attempts = new ArrayList<>();
        for (int from = 0; from < 4; from++) {
            for (int to = 0; to < 4; to++) {
                for (InetSocketAddress address : places.get(to).addresses()) {
                    if (from != to) {
                        attempts.add(new Attempt(from, to, address, 100, failures.apply(from, address)));
                    }
                }
            }
        }
        return new Result(places, PeerProbe.decodeAttempts(PeerProbe.encode(attempts)));
    }

    private static boolean ofBeta(InetSocketAddress address) {
        return address.getPort() >= 4002;
    }

    @Test
    void allIsWellIfEachRankReachesAllOthers() {
        assertThat(PeerChecks.judge(result((from, address) -> "")))
                .singleElement()
                .satisfies(finding -> {
                    assertThat(finding.status()).isEqualTo(Status.OK);
                    assertThat(finding.detail())
                            .startsWith("4 ranks on 2 hosts: each connects to all others; the slowest is");
                });
    }

    @Test
    void aFirewallThatBlocksIncomingConnectionsIsReportedWithItsHost() {
        List<Finding> findings =
                PeerChecks.judge(result((from, address) -> from < 2 && ofBeta(address) ? DROPPED : ""));
        assertThat(findings).singleElement().satisfies(finding -> {
            assertThat(finding.status()).isEqualTo(Status.FAIL);
            assertThat(finding.detail())
                    .startsWith("ranks {0,1} on alpha cannot connect to ranks {2,3} on beta, which connect to them")
                    .contains("10.0.0.2:4002: " + DROPPED);
            assertThat(finding.remedy()).contains("of beta in from alpha");
        });
    }

    @Test
    void hostsThatDoNotReachEachOtherAtAllAreNamedFromBothSides() {
        List<Finding> findings =
                PeerChecks.judge(result((from, address) -> from < 2 == ofBeta(address) ? "No route to host" : ""));
        assertThat(findings).hasSize(2).allSatisfy(finding -> {
            assertThat(finding.status()).isEqualTo(Status.FAIL);
            assertThat(finding.detail()).contains("nor they back").contains("No route to host");
        });
    }

    @Test
    void anAddressThatDoesNotAnswerIsAWarningIfAnotherOneDoes() {
        List<Finding> findings = PeerChecks.judge(result((from, address) ->
                from >= 2 && !ofBeta(address) && address.getHostString().contains(":") ? DROPPED : ""));
        assertThat(findings).hasSize(2);
        assertThat(findings.get(0).status()).isEqualTo(Status.OK);
        assertThat(findings.get(1).status()).isEqualTo(Status.WARN);
        assertThat(findings.get(1).detail())
                .startsWith("ranks {2,3} on beta cannot connect to ranks {0,1} on alpha by address fd00:0:0:0:0:0:0:1");
    }

    /** A black hole: connections are made, but full-sized packets from alpha are lost. */
    @Test
    void fullSizedPacketsThatDoNotArriveAreReportedWithTheirDirection() {
        Result small = result((from, address) -> "");
        List<Attempt> attempts = small.attempts().stream()
                .map(one -> new Attempt(
                        one.from(),
                        one.to(),
                        one.address(),
                        one.micros(),
                        "",
                        one.from() < 2 && one.to() >= 2 ? "nothing of 131072 bytes arrived in 4000 ms" : ""))
                .toList();
        List<Finding> findings =
                PeerChecks.judge(new Result(small.places(), PeerProbe.decodeAttempts(PeerProbe.encode(attempts))));
        assertThat(findings).hasSize(2);
        assertThat(findings.get(0).status()).isEqualTo(Status.OK);
        assertThat(findings.get(0).detail()).doesNotContain("full-sized packets arrive everywhere");
        assertThat(findings.get(1).check()).isEqualTo("peer-packets");
        assertThat(findings.get(1).status()).isEqualTo(Status.FAIL);
        assertThat(findings.get(1).detail())
                .startsWith(
                        "ranks {0,1} on alpha connect to ranks {2,3} on beta, but full-sized packets do not arrive there")
                .contains("/10.0.0.2:4002: nothing of 131072 bytes arrived in 4000 ms");
        assertThat(findings.get(1).remedy()).contains("between alpha and beta one MTU", "tcp_mtu_probing");
    }

    @Test
    void ranksWithoutACommonAddressFamilyAreReported() {
        Result both = result((from, address) -> "");
        List<Attempt> one = both.attempts().stream()
                .filter(attempt -> attempt.from() != 0 || attempt.to() != 3)
                .toList();
        assertThat(PeerChecks.judge(new Result(both.places(), one)))
                .singleElement()
                .satisfies(finding -> assertThat(finding.detail())
                        .startsWith("ranks {0} on alpha cannot connect to ranks {3} on beta, which connect to them")
                        .contains("no address of a common family"));
    }

    private static Launch launch(int rank, int size, int port) {
        return LauncherEnvironment.detect(Map.of(
                "JCCL_RANK", Integer.toString(rank),
                "JCCL_SIZE", Integer.toString(size),
                "JCCL_RENDEZVOUS", "127.0.0.1:" + port + "/0123456789abcdef0123456789abcdef"));
    }

    private static int freePort() throws IOException {
        try (ServerSocket any = new ServerSocket(0)) {
            return any.getLocalPort();
        }
    }

    @Test
    void threeRanksOfThisHostFindEachOther() throws Exception {
        BootstrapOptions options = BootstrapOptions.defaults("test")
                .withInitTimeout(Duration.ofSeconds(30))
                .withInterfaces("lo", "");
        int port = freePort();
        List<CompletableFuture<Result>> ranks = new ArrayList<>();
        for (int rank = 0; rank < 3; rank++) {
            Launch launch = launch(rank, 3, port);
            ranks.add(CompletableFuture.supplyAsync(
                    () -> PeerProbe.run(launch, "here", options), task -> new Thread(task).start()));
        }
        Result first = await(ranks.get(0));
        assertThat(first.attempts()).extracting(Attempt::failure).containsOnly("");
        assertThat(first.attempts()).extracting(Attempt::large).containsOnly("");
        assertThat(first.attempts())
                .extracting(one -> one.from() + " to " + one.to())
                .contains("0 to 1", "0 to 2", "1 to 0", "1 to 2", "2 to 0", "2 to 1");
        assertThat(await(ranks.get(1))).isEqualTo(first);
        assertThat(await(ranks.get(2))).isEqualTo(first);
        assertThat(PeerChecks.judge(first)).singleElement().satisfies(finding -> assertThat(finding.status())
                .isEqualTo(Status.OK));
    }

    private static Result await(CompletableFuture<Result> rank)
            throws InterruptedException, ExecutionException, TimeoutException {
        return rank.get(50, TimeUnit.SECONDS);
    }

    @Test
    void aRankThatDoesNotReachTheOthersIsReported() throws IOException {
        Host host = new Host(
                Path.of("/"),
                Map.of(
                        "JCCL_RANK", "1",
                        "JCCL_SIZE", "2",
                        "JCCL_INIT_TIMEOUT", "1",
                        "JCCL_RENDEZVOUS", "127.0.0.1:" + freePort() + "/0123456789abcdef0123456789abcdef"),
                1,
                1);
        assertThat(PeerChecks.examine(host)).singleElement().satisfies(finding -> {
            assertThat(finding.status()).isEqualTo(Status.FAIL);
            assertThat(finding.detail()).startsWith("rank 1 of 2 does not reach the others: ");
            assertThat(finding.remedy()).contains("JCCL_RENDEZVOUS");
        });
    }
}
