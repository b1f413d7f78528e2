package io.jccl.integration;

import static io.jccl.integration.ResultsTest.longs;
import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.JcclException;
import io.jccl.ReduceOp;
import io.jccl.UniqueId;
import io.jccl.Work;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Profiler plug-ins get an event for each operation, as JDK Flight Recorder does. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ProfilerPluginsTest {

    private static final Duration LIMIT = Duration.ofSeconds(60);

    @TempDir
    Path folder;

    private static CommunicatorConfig.Builder config(PluginFolder plugin) {
        return LocalRanks.config()
                .channels(1)
                .setting("JCCL_ALGO", "ring")
                .setting("JCCL_PROTO", "simple")
                .setting("JCCL_PROFILER_PLUGIN", plugin.library().toString());
    }

    private static List<String> events(PluginFolder plugin) {
        return plugin.events(ProcessHandle.current().pid());
    }

    private static long count(List<String> lines, Predicate<String> condition) {
        return lines.stream().filter(condition).count();
    }

    private static void requireBalanced(List<String> events) {
        assertThat(count(events, line -> line.startsWith("stop ")))
                .isEqualTo(count(events, line -> line.startsWith("start ")));
    }

    private static void work(Communicator comm) {
        DataBuffer values = DataBuffer.of(longs(new long[1000]));
        comm.allReduce(values, ReduceOp.SUM).await();
        comm.broadcast(values, 1).await();
        comm.barrier().await();
        DataBuffer ten = DataBuffer.of(longs(new long[10]));
        int other = 1 - comm.rank();
        comm.sendReceive(ten, other, DataBuffer.of(longs(new long[10])), other).await();
        comm.group(group -> {
                    group.allReduce(values, ReduceOp.MAX);
                    group.reduce(values, ReduceOp.SUM, 1);
                })
                .await();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7})
    void eachOperationHasAnEvent(int version) throws Exception {
        PluginFolder plugin = PluginFolder.of(folder, "jccl_test_profiler_v" + version, "");
        String id;
        try (LocalRanks ranks = LocalRanks.start(2, config(plugin).build())) {
            id = ranks.get(0).id();
            ranks.run(ProfilerPluginsTest::work);
        }
        List<String> events = events(plugin);
        requireBalanced(events);
        assertThat(count(events, line -> line.startsWith("init"))).isEqualTo(2);
        assertThat(count(events, line -> line.startsWith("finalize"))).isEqualTo(2);
        assertThat(count(events, line -> line.contains("communicator=" + id))).isPositive();
        assertThat(count(events, line -> line.contains("unknown"))).isZero();
        String type = version == 1 ? "4" : "ncclInt64";
        String how = version == 1 ? " algo=1 proto=2 channels=1" : " algo=RING proto=SIMPLE channels=1";
        for (int rank = 0; rank < 2; rank++) {
            String mine = " rank=" + rank + " ";
            List<String> colls = events.stream()
                    .filter(line -> line.contains(mine) && line.contains(" coll "))
                    .map(line -> line.substring(line.indexOf("func=")))
                    .toList();
            String reduce = version == 1 ? "1" : "Reduce";
            String allReduce = version == 1 ? "4" : "AllReduce";
            String broadcast = version == 1 ? "0" : "Broadcast";
            String barrier = version == 1 ? "255" : "Barrier";
            assertThat(colls).hasSize(5);
            assertThat(colls.get(0))
                    .startsWith("func=" + allReduce + " seq=1 count=1000 type=" + type + " root=0" + how);
            assertThat(colls.get(1))
                    .startsWith("func=" + broadcast + " seq=2 count=1000 type=" + type + " root=1" + how);
            assertThat(colls.get(2)).startsWith("func=" + barrier + " seq=3 count=");
            assertThat(colls.get(3)).startsWith("func=" + allReduce + " seq=4 count=1000");
            assertThat(colls.get(4)).startsWith("func=" + reduce + " seq=5 count=1000 type=" + type + " root=1");
            int other = 1 - rank;
            for (String direction : version == 1 ? List.of("6", "7") : List.of("Send", "Recv")) {
                assertThat(count(
                                events,
                                line -> line.contains(mine)
                                        && line.contains(" p2p func=" + direction + " count=10 type=" + type + " peer="
                                                + other)))
                        .isEqualTo(1);
            }
        }
        // Each of the two ranks executes five operations, one of which is a group with two members.
        assertThat(count(events, line -> line.endsWith(" group"))).isEqualTo(10);
        assertThat(count(events, line -> line.contains(" group_api "))).isEqualTo(version >= 5 ? 10 : 0);
        assertThat(count(events, line -> line.contains("group_api depth=1"))).isEqualTo(version >= 5 ? 4 : 0);
    }

    @ParameterizedTest
    @ValueSource(ints = {4, 7})
    void eachProcessHasItsOwnEvents(int version) throws Exception {
        PluginFolder plugin = PluginFolder.of(folder, "jccl_test_profiler_v" + version, "");
        try (ProcessRanks ranks = ProcessRanks.start(
                UniqueId.create(),
                folder,
                2,
                rank -> List.of("env", "JCCL_ALGO=ring", "NCCL_PROFILER_PLUGIN=" + plugin.library()),
                "plugins")) {
            for (int rank = 0; rank < 2; rank++) {
                int mine = rank;
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.allOutput()).isZero();
                List<String> lines = ranks.output(rank).lines().toList();
                String pid = lines.stream()
                        .filter(line -> line.startsWith("PID "))
                        .findFirst()
                        .orElseThrow()
                        .substring(4);
                List<String> events = plugin.events(Long.parseLong(pid));
                requireBalanced(events);
                List<String> colls =
                        events.stream().filter(line -> line.contains(" coll ")).toList();
                List<String> executed = lines.stream()
                        .filter(line -> line.startsWith("EXECUTION"))
                        .toList();
                assertThat(colls).hasSameSizeAs(executed).allSatisfy(line -> assertThat(line)
                        .contains("rank=" + mine));
                for (int i = 0; i < colls.size(); i++) {
                    String[] how = executed.get(i)
                            .substring(executed.get(i).lastIndexOf(' ') + 1)
                            .split("/");
                    assertThat(colls.get(i))
                            .contains(" seq=" + (i + 1) + " ")
                            .contains("algo=" + how[0].toUpperCase(Locale.ROOT) + " proto="
                                    + how[1].toUpperCase(Locale.ROOT) + " channels=" + how[2]);
                }
            }
        }
    }

    @Test
    void operationsThatNobodyAwaitsHaveEventsWhichFailuresEnd() throws Exception {
        PluginFolder plugin = PluginFolder.of(folder, "jccl_test_profiler_v7", "");
        try (LocalRanks ranks = LocalRanks.start(
                2,
                config(plugin)
                        .timeout(Duration.ofMillis(500L * LocalRanks.SLOWNESS))
                        .build())) {
            ranks.run(comm -> {
                DataBuffer values = DataBuffer.of(longs(new long[10]));
                Work last = comm.allReduce(values, ReduceOp.SUM);
                for (int i = 0; i < 20; i++) {
                    last = comm.allReduce(values, ReduceOp.SUM);
                }
                last.toFuture().get();
                if (comm.rank() == 0) {
                    try {
                        comm.allReduce(values, ReduceOp.SUM).await();
                    } catch (JcclException e) {
                        return; // the other rank does not take part
                    }
                }
            });
        }
        List<String> events = events(plugin);
        requireBalanced(events);
        assertThat(count(events, line -> line.contains(" coll "))).isEqualTo(2 * 21 + 1);
    }

    @Test
    void pluginGetsOnlyTheEventsThatItAsksFor() throws Exception {
        PluginFolder plugin = PluginFolder.of(folder, "jccl_test_profiler_v5", "0");
        try (LocalRanks ranks = LocalRanks.start(2, config(plugin).build())) {
            ranks.run(ProfilerPluginsTest::work);
        }
        assertThat(events(plugin)).hasSize(4).noneSatisfy(line -> assertThat(line)
                .startsWith("start"));
    }

    @ParameterizedTest
    @CsvSource({"init, init returned 2 (system error)", "hangs, init has not returned in "})
    void ranksWorkWithoutAPluginThatDoesNotInitialise(String wanted, String problem) throws Exception {
        PluginFolder plugin = PluginFolder.of(folder, "jccl_test_profiler_v5", wanted);
        try (InitLog log = new InitLog("io.jccl")) {
            try (LocalRanks ranks = LocalRanks.start(
                    2,
                    config(plugin)
                            .initTimeout(Duration.ofSeconds(4L * LocalRanks.SLOWNESS))
                            .build())) {
                ranks.run(ProfilerPluginsTest::work);
            }
            assertThat(count(
                            log.lines(),
                            line -> line.contains(problem) && line.endsWith("operations have no events there")))
                    .isEqualTo(2);
        }
        assertThat(events(plugin)).noneSatisfy(line -> assertThat(line).startsWith("start"));
    }

    @Test
    void pluginThatDoesNotReturnIsLeftBehind() throws Exception {
        PluginFolder plugin = PluginFolder.of(folder, "jccl_test_profiler_v7", "stays");
        try (InitLog log = new InitLog("io.jccl.runtime")) {
            try (LocalRanks ranks = LocalRanks.start(2, config(plugin).build())) {
                ranks.run(ProfilerPluginsTest::work);
            }
            assertThat(count(
                            log.lines(),
                            line -> line.endsWith("a call has not returned in 10 s; its thread is left behind")))
                    .isEqualTo(2);
        }
        requireBalanced(events(plugin));
    }

    @Test
    void eventsThatFailHaveNoEffect() throws Exception {
        PluginFolder plugin = PluginFolder.of(folder, "jccl_test_profiler_v6", "fails");
        try (LocalRanks ranks = LocalRanks.start(2, config(plugin).build())) {
            ranks.run(ProfilerPluginsTest::work);
        }
        assertThat(count(events(plugin), line -> line.startsWith("finalize"))).isEqualTo(2);
    }

    @Test
    void noPluginIsLoadedUnlessOneIsNamed() throws Exception {
        try (InitLog log = new InitLog("io.jccl");
                LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(ProfilerPluginsTest::work);
            assertThat(log.lines()).noneSatisfy(line -> assertThat(line).contains("profiler"));
        }
    }
}
