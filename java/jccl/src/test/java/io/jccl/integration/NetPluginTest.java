package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.CommunicatorConfig;
import io.jccl.PeerFailedException;
import io.jccl.PeerTransport;
import io.jccl.TransportException;
import io.jccl.TransportKind;
import io.jccl.UniqueId;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks of several hosts that communicate through a network plug-in for NCCL. */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class NetPluginTest {

    private static final Duration LIMIT = Duration.ofSeconds(90);
    private static final Duration WITHIN_SECONDS = Duration.ofSeconds(5L * LocalRanks.SLOWNESS);

    @TempDir
    Path folder;

    /** Places half of the ranks on each of two simulated hosts. */
    private static IntFunction<CommunicatorConfig> onTwoHosts(int size, IntFunction<String> plugin) {
        return rank -> LocalRanks.config()
                .hostId("host" + rank * 2 / size)
                .setting(TestPlugins.SETTING, plugin.apply(rank))
                .build();
    }

    private static Set<TransportKind> kinds(LocalRanks ranks) {
        return ranks.call(comm -> comm.transports()).stream()
                .flatMap(List::stream)
                .map(PeerTransport::kind)
                .collect(Collectors.toSet());
    }

    private static void requireSums(LocalRanks ranks) {
        ranks.run(comm -> {
            try (Arena arena = new Arena(CollectiveCase.arenaBytes(comm.size()))) {
                for (CollectiveCase one : CollectiveCase.sample(1, comm.size(), 10, true)) {
                    one.check(comm, arena);
                }
            }
        });
    }

    @ParameterizedTest
    @CsvSource({"6,ring", "6,tree", "9,ring", "12,tree", "12,auto"})
    void everyCollectiveIsExactBetweenProcessesOfTwoHosts(int version, String algorithm) throws Exception {
        List<String> environment =
                List.of("env", TestPlugins.environment(version), "JCCL_ALGO=" + algorithm, "JCCL_IB_DISABLE=1");
        try (ProcessRanks ranks =
                ProcessRanks.start(UniqueId.create(), folder, 4, rank -> environment, "hosts", "a", "a", "b", "b")) {
            for (int rank = 0; rank < 4; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.allOutput()).isZero();
                assertThat(ranks.output(rank)).contains("RESULT ok");
            }
            assertThat(ranks.output(0)).contains("TRANSPORTS [1:shm, 2:plugin, 3:plugin]");
        }
    }

    /** On each host, the adapter is near the GPU of the second rank, which forwards the first rank's data. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void aKilledProcessIsNamedWithinSeconds(int victim) throws Exception {
        List<String> environment = List.of("env", TestPlugins.environment(11), "JCCL_TRANSPORT=plugin");
        try (ProcessRanks ranks =
                ProcessRanks.start(UniqueId.create(), folder, 3, rank -> environment, "work", "30000", "-1", "none")) {
            for (int rank = 0; rank < 3; rank++) {
                ranks.awaitOutput(rank, text -> text.contains("READY"), LIMIT);
            }
            long killed = System.nanoTime();
            ranks.kill(victim);
            for (int rank = 0; rank < 3; rank++) {
                if (rank != victim) {
                    ranks.awaitOutput(rank, text -> text.contains("FAILED"), WITHIN_SECONDS);
                    assertThat(ranks.output(rank)).contains("PeerFailedException[" + victim + "]");
                }
            }
            assertThat(Duration.ofNanos(System.nanoTime() - killed)).isLessThan(WITHIN_SECONDS);
        }
    }

    @Test
    void simulatedHostsUseThePluginOverTheirNetwork() throws Exception {
        Optional<String> reasonUnavailable = SimulatedHosts.reasonUnavailable();
        assumeTrue(reasonUnavailable.isEmpty(), reasonUnavailable.orElse(""));
        try (SimulatedHosts hosts = SimulatedHosts.start("--machines", "2");
                ProcessRanks ranks = ProcessRanks.startLaunched(
                        folder,
                        4,
                        rank -> hosts.inside(
                                rank / 2,
                                rank,
                                4,
                                SimulatedHosts.rendezvousAt("10.88.0.1"),
                                TestPlugins.environment(8)),
                        "launched-sample",
                        "20")) {
            for (int rank = 0; rank < 4; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks::allOutput).isZero();
                assertThat(ranks.output(rank)).contains("RESULT ok");
            }
            assertThat(ranks.output(0)).contains("TRANSPORTS [1:shm, 2:plugin, 3:plugin]");
        }
    }

    @Test
    void nameVersionAndDevicesOfAPluginAreLoggedOncePerHost() {
        try (InitLog log = new InitLog();
                LocalRanks ranks = LocalRanks.start(4, onTwoHosts(4, rank -> TestPlugins.library(10)))) {
            requireSums(ranks);
            assertThat(kinds(ranks)).containsExactlyInAnyOrder(TransportKind.P2P, TransportKind.PLUGIN);
            assertThat(log.lines())
                    .filteredOn(line -> line.startsWith("net plug-in "))
                    .containsOnly("net plug-in \"Test\", file=" + TestPlugins.library(10)
                            + " version=10 devices: test0 (10 Gb/s)")
                    .hasSize(2);
            assertThat(log.lines()).anyMatch(line -> line.endsWith("rank 0: p2p to {1}, plugin to {2,3} by Test"));
        }
    }

    /** Only the version of the interface differs; both ends run the same plug-in. */
    @Test
    void versionsOfOnePluginWorkTogether() {
        try (LocalRanks ranks = LocalRanks.start(2, onTwoHosts(2, rank -> TestPlugins.library(rank == 0 ? 6 : 12)))) {
            requireSums(ranks);
            assertThat(kinds(ranks)).containsOnly(TransportKind.PLUGIN);
        }
    }

    @Test
    void firstUsablePluginOfAListIsUsed() {
        String list = "nonesuch, " + TestPlugins.library(7) + ",other";
        try (InitLog log = new InitLog();
                LocalRanks ranks = LocalRanks.start(2, onTwoHosts(2, rank -> list))) {
            requireSums(ranks);
            assertThat(kinds(ranks)).containsOnly(TransportKind.PLUGIN);
            assertThat(log.lines()).anyMatch(line -> line.startsWith("net plug-in \"nonesuch\": cannot be loaded: "));
        }
    }

    @Test
    void unusablePluginIsLoggedOnceAndTheNextNetworkIsUsed() throws Exception {
        Path noPlugin = Files.writeString(folder.resolve("libnothing.so"), "text");
        String noTable = System.getProperty("jccl.test.functions");
        for (String wrong : List.of("nonesuch", noPlugin.toString(), noTable)) {
            try (InitLog log = new InitLog();
                    LocalRanks ranks = LocalRanks.start(2, onTwoHosts(2, rank -> wrong))) {
                requireSums(ranks);
                assertThat(kinds(ranks)).doesNotContain(TransportKind.PLUGIN);
                assertThat(log.lines())
                        .filteredOn(line -> line.startsWith("net plug-in \"" + wrong + "\": "))
                        .hasSize(2) // once per host
                        .allMatch(
                                line -> line.endsWith("; it is not used: correct JCCL_NET_PLUGIN, or set it to none"));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"fails=init", "properties=nodevices"})
    void pluginThatFailsToInitialiseOrHasNoDeviceIsNotUsed(String fault) throws Exception {
        List<String> environment =
                List.of("env", TestPlugins.environment(9), "JCCL_TEST_PLUGIN_FAULT=" + fault, "JCCL_IB_DISABLE=1");
        try (ProcessRanks ranks =
                ProcessRanks.start(UniqueId.create(), folder, 2, rank -> environment, "hosts", "a", "b")) {
            for (int rank = 0; rank < 2; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.allOutput()).isZero();
                assertThat(ranks.output(rank)).contains("RESULT ok").contains(":socket]");
            }
        }
    }

    /** The JVM needs its signal handlers: for example, a null reference raises SIGSEGV. */
    @ParameterizedTest
    @ValueSource(strings = {"load", "init"})
    void signalHandlersThatThePluginReplacesAreRestored(String call) throws Exception {
        List<String> environment = List.of(
                "env", TestPlugins.environment(12), "JCCL_TEST_PLUGIN_FAULT=handlers=" + call, "JCCL_IB_DISABLE=1");
        try (ProcessRanks ranks =
                ProcessRanks.start(UniqueId.create(), folder, 2, rank -> environment, "hosts", "a", "b")) {
            for (int rank = 0; rank < 2; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.allOutput()).isZero();
                assertThat(ranks.output(rank))
                        .contains("RESULT ok")
                        .contains(":plugin]")
                        .contains(" replaced handlers of signals=SIGSEGV,SIGUSR2, which the JVM needs");
            }
        }
    }

    /** The process ends with a report that names the plug-in's library. The other rank names the rank that failed. */
    @Test
    void crashInAPluginIsNamedInTheReportOfTheJvm() throws Exception {
        Path report = folder.resolve("hs_err.log");
        IntFunction<List<String>> environment = rank -> List.of(
                "env",
                TestPlugins.environment(12),
                "JCCL_HOST_ID=host" + rank,
                "JCCL_IB_DISABLE=1",
                "JAVA_TOOL_OPTIONS=-XX:-CreateCoredumpOnCrash -XX:ErrorFile=" + report,
                "JCCL_TEST_PLUGIN_FAULT=" + (rank == 1 ? "crashes=isend" : ""));
        try (ProcessRanks ranks =
                ProcessRanks.start(UniqueId.create(), folder, 2, environment, "work", "30000", "-1", "none")) {
            assertThat(ranks.awaitExit(1, LIMIT)).as(ranks.allOutput()).isNotZero();
            assertThat(Files.readString(report))
                    .contains("SIGSEGV")
                    .containsPattern("C  \\[libjccl_test_plugin_v12\\.so\\+0x[0-9a-f]+\\]  jccl::plugin::");
            ranks.awaitOutput(0, text -> text.contains("CLOSED"), LIMIT);
            assertThat(ranks.output(0)).contains("PeerFailedException[1]");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "none", "NONE"})
    void nothingIsLoggedWithoutAPlugin(String setting) {
        try (InitLog log = new InitLog();
                LocalRanks ranks = LocalRanks.start(2, onTwoHosts(2, rank -> setting))) {
            assertThat(kinds(ranks)).doesNotContain(TransportKind.PLUGIN);
            assertThat(log.lines()).noneMatch(line -> line.contains("plug-in"));
            assertThat(ranks.get(0).transports().get(0).reason()).doesNotContain("plugin");
        }
    }

    @Test
    void noRankUsesAPluginThatAnotherRankLacks() {
        try (InitLog log = new InitLog();
                LocalRanks ranks =
                        LocalRanks.start(4, onTwoHosts(4, rank -> rank < 2 ? TestPlugins.library(12) : "none"))) {
            requireSums(ranks);
            assertThat(kinds(ranks)).doesNotContain(TransportKind.PLUGIN);
            assertThat(log.lines())
                    .filteredOn(line -> line.contains("plug-in"))
                    .containsExactly("net plug-in \"Test\" is not used: ranks {2,3} do not have it;"
                            + " JCCL_NET_PLUGIN must lead to the same one on all hosts");
        }
    }

    /** Rank 0 either finds the error itself, or reports that rank 1 has found it. */
    @Test
    void forcedPluginTransportWithoutAPluginIsAnError() {
        assertThatThrownBy(() -> LocalRanks.start(
                        2,
                        LocalRanks.config()
                                .transport(TransportKind.PLUGIN)
                                .setting(TestPlugins.SETTING, "none")
                                .build()))
                .rootCause()
                .isInstanceOfAny(TransportException.class, PeerFailedException.class)
                .hasMessageContaining("JCCL_TRANSPORT=plugin")
                .hasMessageContaining("no network plug-in is in use; name one by JCCL_NET_PLUGIN");
    }

    @Test
    void splitCommunicatorUsesThePluginToo() {
        try (LocalRanks ranks = LocalRanks.start(4, onTwoHosts(4, rank -> TestPlugins.library(12)))) {
            ranks.run(comm -> {
                try (var half = comm.split(comm.rank() % 2, comm.rank()).orElseThrow()) {
                    assertThat(half.transports().get(0).kind()).isEqualTo(TransportKind.PLUGIN);
                    half.barrier().await();
                }
            });
        }
    }
}
