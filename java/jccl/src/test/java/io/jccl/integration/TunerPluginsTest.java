package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.UniqueId;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tuner plug-ins change how operations are executed, in the same way on all ranks. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TunerPluginsTest {

    private static final Duration LIMIT = Duration.ofSeconds(60);

    @TempDir
    Path folder;

    private static CommunicatorConfig.Builder config(String plugin) {
        return LocalRanks.config().channels(2).setting("JCCL_TUNER_PLUGIN", plugin);
    }

    /** Returns how each of {@code size} ranks of this process executes operations. */
    private static List<List<String>> executions(int size, CommunicatorConfig config) throws Exception {
        try (LocalRanks ranks = LocalRanks.start(size, config)) {
            return ranks.call(PluginScenarios::executions);
        }
    }

    private static List<List<String>> withoutPlugin(int size) throws Exception {
        return executions(size, config("none").build());
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 5, 6, 7})
    void allRanksExecuteWhatTheTunerPrefers(int version) throws Exception {
        // The plug-in prefers ring with LL128 over two channels for 768 to 40000 bytes. A bucket of the table begins at
        // 768.
        PluginFolder plugin = PluginFolder.of(folder, "jccl_test_tuner_v" + version, "1 1 2 768 40000");
        List<List<String>> executed;
        List<String> changes;
        try (InitLog log = new InitLog("io.jccl")) {
            executed = executions(3, config(plugin.library().toString()).build());
            changes = log.lines().stream()
                    .filter(line -> line.contains(" changes, on host memory: "))
                    .toList();
        }
        List<String> own = withoutPlugin(3).get(0);
        assertThat(executed).allSatisfy(rank -> assertThat(rank).isEqualTo(executed.get(0)));
        for (int i = 0; i < own.size(); i++) {
            String[] words = own.get(i).split(" ");
            long bytes = Long.parseLong(words[1]) * Long.BYTES * (words[0].equals("all_gather") ? 3 : 1);
            boolean tuned = bytes >= 768 && bytes <= 40_000;
            assertThat(executed.get(0).get(i))
                    .isEqualTo(tuned ? words[0] + " " + words[1] + " ring/ll128/2" : own.get(i));
        }
        assertThat(changes).hasSize(5).allSatisfy(line -> assertThat(line)
                .contains("tuner plug-in Test (" + plugin.library() + ", version " + version + ")")
                .contains("-> ring/ll128 channels=2"));
        List<String> calls = plugin.lines(".log");
        assertThat(calls.stream().filter(line -> line.startsWith("init"))).hasSize(1);
        assertThat(calls.get(calls.size() - 1)).startsWith("finalize");
        assertThat(calls.get(0)).startsWith("init ranks=3 nodes=1");
    }

    @Test
    void allRanksFollowATunerThatChangesItsChoices() throws Exception {
        PluginFolder plugin = PluginFolder.of(folder, "jccl_test_tuner_v5", "flip");
        List<List<String>> executed =
                executions(4, config(plugin.library().toString()).build());
        assertThat(executed).allSatisfy(rank -> assertThat(rank).isEqualTo(executed.get(0)));
        Set<String> ways = new HashSet<>();
        executed.get(0).forEach(line -> ways.add(line.split(" ")[2]));
        assertThat(ways).hasSizeGreaterThan(3);
    }

    @ParameterizedTest
    @CsvSource({
        "nan, the cost of ring/simple is NaN",
        "infinite, the cost of ring/simple is Infinity",
        "negative, the cost of ring/simple is -3.0",
        "unknown, prefers pat/simple",
        "channels, channels=1000",
        "nothing, leaves no algorithm",
        "fails, getCollInfo returned 3 (internal error)",
        "init, init returned 2 (system error)"
    })
    void invalidChoicesAreReportedOncePerCollectiveAndJcclChooses(String wanted, String problem) throws Exception {
        PluginFolder plugin = PluginFolder.of(folder, "jccl_test_tuner_v5", wanted);
        List<String> problems;
        List<List<String>> executed;
        try (InitLog log = new InitLog("io.jccl")) {
            executed = executions(2, config(plugin.library().toString()).build());
            problems =
                    log.lines().stream().filter(line -> line.contains(problem)).toList();
        }
        assertThat(executed).isEqualTo(withoutPlugin(2));
        // With "nothing" the plug-in excludes every entry of the cost table. Only the direct algorithm, which has no
        // entry, may remain.
        assertThat(problems).hasSize(wanted.equals("init") ? 1 : wanted.equals("nothing") ? problems.size() : 5);
    }

    @Test
    void tunerThatDoesNotReturnIsNotUsed() throws Exception {
        PluginFolder plugin = PluginFolder.of(folder, "jccl_test_tuner_v5", "hangs");
        CommunicatorConfig config = config(plugin.library().toString())
                .initTimeout(Duration.ofSeconds(4L * LocalRanks.SLOWNESS))
                .build();
        try (InitLog log = new InitLog("io.jccl")) {
            assertThat(executions(2, config)).isEqualTo(withoutPlugin(2));
            assertThat(log.lines()).anySatisfy(line -> assertThat(line)
                    .contains(": init has not returned in ")
                    .contains("JCCL chooses alone"));
        }
    }

    @Test
    void missingPluginIsReportedAndSettingNoneLooksForNone() throws Exception {
        try (InitLog log = new InitLog("io.jccl")) {
            executions(2, config("no-such").build());
            assertThat(log.lines()).anySatisfy(line -> assertThat(line)
                    .startsWith("JCCL_TUNER_PLUGIN=no-such: cannot be loaded: ")
                    .contains("libnccl-tuner-no-such.so")
                    .endsWith("; none is used"));
        }
        try (InitLog log = new InitLog("io.jccl")) {
            executions(2, config("NONE").build());
            assertThat(log.lines()).noneSatisfy(line -> assertThat(line).contains("tuner"));
        }
    }

    /** NCCL, too, looks for a tuner in the library of the network plug-in last. */
    @Test
    void libraryOfTheNetworkPluginIsSearchedLast() throws Exception {
        PluginFolder plugin = PluginFolder.of(folder, "jccl_test_plugins", "1 0 2");
        CommunicatorConfig.Builder config = LocalRanks.config()
                .channels(2)
                .setting("JCCL_NET_PLUGIN", plugin.library().toString());
        assertThat(executions(2, config.build())).allSatisfy(rank -> assertThat(rank)
                .allSatisfy(line -> assertThat(line).endsWith(" ring/ll/2")));
        assertThat(executions(2, config.setting("JCCL_TUNER_PLUGIN", "none").build()))
                .isEqualTo(withoutPlugin(2));
        try (InitLog log = new InitLog("io.jccl")) {
            assertThat(executions(
                                    2,
                                    config.setting("JCCL_TUNER_PLUGIN", "no-such")
                                            .build())
                            .get(1))
                    .allSatisfy(line -> assertThat(line).endsWith(" ring/ll/2"));
            assertThat(log.lines()).anySatisfy(line -> assertThat(line)
                    .startsWith("JCCL_TUNER_PLUGIN=no-such: ")
                    .endsWith("; that of the network plug-in is used"));
        }
    }

    @Test
    void settingsOverrideTheTuner() throws Exception {
        PluginFolder plugin = PluginFolder.of(folder, "jccl_test_tuner_v5", "1 1 2");
        List<List<String>> executed = executions(
                2,
                config(plugin.library().toString()).setting("JCCL_PROTO", "ll").build());
        assertThat(executed.get(0)).allSatisfy(line -> assertThat(line).contains("/ll/"));
    }

    @Test
    void splitCommunicatorsAreTunedSeparately() throws Exception {
        PluginFolder plugin = PluginFolder.of(folder, "jccl_test_tuner_v7", "1 0 2");
        try (LocalRanks ranks =
                LocalRanks.start(4, config(plugin.library().toString()).build())) {
            List<List<String>> executed = ranks.call(comm -> {
                try (Communicator half = comm.split(comm.rank() % 2, 0).orElseThrow()) {
                    return PluginScenarios.executions(half);
                }
            });
            assertThat(executed).allSatisfy(rank -> assertThat(rank)
                    .allSatisfy(line -> assertThat(line).endsWith(" ring/ll/2")));
        }
        assertThat(plugin.lines(".log").stream().filter(line -> line.startsWith("init ranks=2")))
                .hasSize(2);
    }

    /** Each rank's tuner prefers something else; all ranks follow rank 0's. */
    @ParameterizedTest
    @ValueSource(ints = {2, 7})
    void processesFollowTheTunerOfRank0(int version) throws Exception {
        List<PluginFolder> plugins = new ArrayList<>();
        List<String> preferences = List.of("1 1 1", "1 2 1", "0 0 1");
        for (int rank = 0; rank < 3; rank++) {
            plugins.add(PluginFolder.of(
                    folder.resolve("rank" + rank), "jccl_test_tuner_v" + version, preferences.get(rank)));
        }
        try (ProcessRanks ranks = ProcessRanks.start(
                UniqueId.create(),
                folder,
                3,
                rank -> List.of("env", "NCCL_TUNER_PLUGIN=" + plugins.get(rank).library()),
                "plugins")) {
            for (int rank = 0; rank < 3; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.allOutput()).isZero();
                assertThat(ranks.output(rank).lines().filter(line -> line.startsWith("EXECUTION")))
                        .hasSize(3 * PluginScenarios.COUNTS.size())
                        .allSatisfy(line -> assertThat(line).endsWith(" ring/ll128/1"));
            }
        }
        assertThat(plugins.get(0).lines(".log")).isNotEmpty();
        assertThat(plugins.get(1).lines(".log")).isEmpty();
    }
}
