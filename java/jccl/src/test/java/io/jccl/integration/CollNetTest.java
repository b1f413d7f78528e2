package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.UniqueId;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** CollNet between two simulated hosts. Each rank is a process; another process simulates the switch that reduces. */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CollNetTest {

    private static final Duration LIMIT = Duration.ofSeconds(90);
    private static final Duration WITHIN_SECONDS = Duration.ofSeconds(5L * LocalRanks.SLOWNESS);
    private static final String USED = "collnet: the network reduces between hosts=2";

    @TempDir
    Path folder;

    private Process networkSwitch;
    private String port;

    @BeforeEach
    void startSwitch() throws IOException {
        Path program = Path.of(System.getProperty("jccl.test.plugins"), "jccl_test_switch");
        networkSwitch = new ProcessBuilder(program.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        BufferedReader output =
                new BufferedReader(new InputStreamReader(networkSwitch.getInputStream(), StandardCharsets.US_ASCII));
        port = output.readLine();
    }

    @AfterEach
    void endSwitch() throws InterruptedException {
        networkSwitch.destroyForcibly().waitFor();
    }

    /** Returns the command prefix of each of four ranks, two on each host. */
    private IntFunction<List<String>> with(int version, String... settings) {
        return rank -> {
            List<String> command = new ArrayList<>(List.of(
                    "env",
                    "JCCL_HOST_ID=host" + rank / 2,
                    "JCCL_TEST_SWITCH=" + port,
                    "JCCL_COLLNET_ENABLE=1",
                    "JCCL_IB_DISABLE=1",
                    "JCCL_NET_PLUGIN="
                            + Path.of(
                                    System.getProperty("jccl.test.plugins"),
                                    "libjccl_test_collnet_v" + version + ".so")));
            command.addAll(List.of(settings));
            return command;
        };
    }

    private ProcessRanks used(IntFunction<List<String>> command) throws Exception {
        return used(command, "collnet");
    }

    private ProcessRanks used(IntFunction<List<String>> command, String scenario, String... arguments)
            throws Exception {
        ProcessRanks ranks = ProcessRanks.start(UniqueId.create(), folder, 4, command, scenario, arguments);
        for (int rank = 0; rank < 4; rank++) {
            assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks::allOutput).isZero();
            assertThat(ranks.output(rank)).contains("RESULT ok");
        }
        return ranks;
    }

    @ParameterizedTest
    @CsvSource({"8,collnetdirect,collnet_direct", "12,collnet,collnet_direct", "10,collnetchain,collnet_chain"})
    void collectivesGoThroughTheNetworkAndAreExact(int version, String setting, String algorithm) throws Exception {
        try (ProcessRanks ranks = used(with(version, "JCCL_ALGO=" + setting, "JCCL_TRANSPORT=auto"))) {
            for (int rank = 0; rank < 4; rank++) {
                assertThat(ranks.output(rank))
                        .contains("USED all_reduce=" + (setting.equals("collnet") ? "collnet_" : algorithm))
                        .contains("USED all_reduce_xor=ring");
                if (!algorithm.endsWith("chain")) {
                    assertThat(ranks.output(rank))
                            .contains("USED all_gather=collnet_direct")
                            .contains("USED reduce_scatter=collnet_direct");
                }
            }
            assertThat(ranks.allOutput()).containsOnlyOnce(USED);
            assertThat(ranks.output(0)).contains("groups=1 of leaders=[0, 2]; it gathers and scatters, too");
        }
    }

    @Test
    void eachGroupHasItsOwnDeviceAndLeaders() throws Exception {
        try (ProcessRanks ranks =
                used(with(12, "JCCL_ALGO=collnetdirect", "JCCL_TEST_COLLNET_DEVICES=2", "JCCL_MIN_NCHANNELS=2"))) {
            assertThat(ranks.output(0)).contains(USED + " by groups=2 of leaders=[0, 2]");
        }
    }

    @Test
    void pluginOfVersion6OnlyReduces() throws Exception {
        try (ProcessRanks ranks = used(with(6, "JCCL_ALGO=all_reduce:collnetdirect"))) {
            assertThat(ranks.output(0)).contains("groups=1 of leaders=[0, 2]").doesNotContain("it gathers");
            assertThat(ranks.output(3)).contains("USED all_reduce=collnet_direct");
            assertThat(ranks.output(3)).doesNotContain("USED all_gather=collnet");
        }
    }

    @Test
    void collNetIsNotUsedUnlessItsSettingIsOn() throws Exception {
        try (ProcessRanks ranks = used(with(12, "JCCL_COLLNET_ENABLE=0"))) {
            assertThat(ranks.allOutput()).doesNotContain("=collnet_").doesNotContain("collnet: ");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "init, init returned 2 (system error)",
        "none, 'devices=0, expected 1 to 16'",
        "refuses, connect returned 2 (system error)"
    })
    void noRankUsesCollNetIfOneRankCannot(String fault, String why) throws Exception {
        IntFunction<List<String>> faulty = with(12, "JCCL_ALGO=collnet", "JCCL_TEST_COLLNET_FAULT=" + fault);
        IntFunction<List<String>> good = with(12, "JCCL_ALGO=collnet");
        boolean connects = fault.equals("refuses");
        try (ProcessRanks ranks = used(rank -> rank == 2 || connects ? faulty.apply(rank) : good.apply(rank))) {
            assertThat(ranks.allOutput()).containsOnlyOnce("collnet: not used: rank=");
            assertThat(ranks.output(0)).contains("collnet: not used: rank=" + (connects ? 0 : 2) + ": ");
            assertThat(ranks.output(0)).contains(why);
            assertThat(ranks.allOutput()).doesNotContain("=collnet_");
        }
    }

    @Test
    void logNamesTheRankWithoutAPlugin() throws Exception {
        IntFunction<List<String>> none = with(12, "JCCL_NET_PLUGIN=none");
        IntFunction<List<String>> good = with(12);
        try (ProcessRanks ranks = used(rank -> rank == 3 ? none.apply(rank) : good.apply(rank))) {
            assertThat(ranks.output(0)).contains("collnet: not used: rank=3: JCCL_NET_PLUGIN=none");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {6, 12})
    void collectivesOfGpuMemoryUseCollNetChain(int version) throws Exception {
        String parts = version < 8 ? "ring" : "collnet";
        String algorithms = "all_reduce:collnetchain;all_gather:" + parts + ";reduce_scatter:" + parts;
        IntFunction<List<String>> command = with(version, "JCCL_ALGO=" + algorithms, "JCCL_TRANSPORT=auto");
        String ofParts = version < 8 ? "ring" : "collnet_chain";
        try (ProcessRanks ranks = used(command, "collnet-device", EmulatedGpus.library())) {
            for (int rank = 0; rank < 4; rank++) {
                assertThat(ranks.output(rank))
                        .contains("USED all_reduce=collnet_chain")
                        .contains("USED all_reduce_avg=collnet_chain")
                        .contains("USED all_reduce_xor=ring")
                        .contains("USED all_gather=" + ofParts)
                        .contains("USED reduce_scatter=" + ofParts);
            }
            assertThat(ranks.output(0)).contains("collnet of GPUs: the network reduces between hosts=2 by groups=1");
        }
    }

    /**
     * Host 1 has three ranks, so two ranks are below its leader. CollNet does not all-gather if hosts have different
     * numbers of ranks.
     */
    @Test
    void allReduceOfGpuMemoryUsesCollNetDirect() throws Exception {
        String algorithms = "JCCL_ALGO=all_reduce:collnetdirect";
        IntFunction<List<String>> command = rank ->
                with(12, algorithms, "JCCL_HOST_ID=host" + Math.min(rank, 1)).apply(rank);
        try (ProcessRanks ranks = used(command, "collnet-device", EmulatedGpus.library())) {
            for (int rank = 0; rank < 4; rank++) {
                assertThat(ranks.output(rank))
                        .contains("USED all_reduce=collnet_direct")
                        .contains("USED all_reduce_avg=collnet_direct")
                        .contains("USED all_reduce_xor=ring");
            }
        }
    }

    @Test
    void aSwitchThatEndsFailsTheKernelsOfAllRanks() throws Exception {
        IntFunction<List<String>> command = with(12, "JCCL_ALGO=all_reduce:collnetchain");
        try (ProcessRanks ranks = ProcessRanks.start(
                UniqueId.create(), folder, 4, command, "collnet-device-work", EmulatedGpus.library())) {
            for (int rank = 0; rank < 4; rank++) {
                ranks.awaitOutput(rank, text -> text.contains("READY"), LIMIT);
            }
            networkSwitch.destroyForcibly().waitFor();
            for (int rank = 0; rank < 4; rank++) {
                ranks.awaitOutput(rank, text -> text.contains("CLOSED"), LIMIT);
                assertThat(ranks.output(rank)).contains("FAILED").contains("TransportException");
            }
            assertThat(ranks.allOutput()).contains("collnet plug-in TestSwitch");
        }
    }

    private ProcessRanks working(IntFunction<List<String>> command) throws Exception {
        ProcessRanks ranks = ProcessRanks.start(UniqueId.create(), folder, 4, command, "work", "30000", "-1", "none");
        for (int rank = 0; rank < 4; rank++) {
            ranks.awaitOutput(rank, text -> text.contains("READY"), LIMIT);
        }
        return ranks;
    }

    /** Ranks 0 and 2 lead their hosts; rank 1 leads none. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void aKilledRankIsNamedWithinSeconds(int victim) throws Exception {
        try (ProcessRanks ranks = working(with(11, "JCCL_ALGO=collnetdirect"))) {
            long killed = System.nanoTime();
            ranks.kill(victim);
            for (int rank = 0; rank < 4; rank++) {
                if (rank != victim) {
                    ranks.awaitOutput(rank, text -> text.contains("FAILED"), WITHIN_SECONDS);
                    assertThat(ranks.output(rank)).contains("PeerFailedException[" + victim + "]");
                }
            }
            assertThat(Duration.ofNanos(System.nanoTime() - killed)).isLessThan(WITHIN_SECONDS);
        }
    }

    @Test
    void aSwitchThatEndsFailsAllRanks() throws Exception {
        try (ProcessRanks ranks = working(with(12, "JCCL_ALGO=collnetdirect"))) {
            networkSwitch.destroyForcibly().waitFor();
            for (int rank = 0; rank < 4; rank++) {
                ranks.awaitOutput(rank, text -> text.contains("CLOSED"), LIMIT);
                assertThat(ranks.output(rank)).contains("FAILED").contains("TransportException");
                assertThat(ranks.output(rank)).contains("collnet plug-in TestSwitch");
            }
        }
    }

    @Test
    void reductionThatNeverEndsTimesOutOnAllRanks() throws Exception {
        IntFunction<List<String>> stuck = with(12, "JCCL_ALGO=collnetdirect", "JCCL_TEST_COLLNET_FAULT=stuck");
        try (ProcessRanks ranks =
                ProcessRanks.start(UniqueId.create(), folder, 4, stuck, "work", "2000", "-1", "none")) {
            for (int rank = 0; rank < 4; rank++) {
                ranks.awaitOutput(rank, text -> text.contains("CLOSED"), LIMIT);
                assertThat(ranks.output(rank)).contains("FAILED").contains("CommunicationTimeoutException");
            }
        }
    }
}
