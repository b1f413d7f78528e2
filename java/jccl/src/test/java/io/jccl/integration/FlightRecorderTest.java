package io.jccl.integration;

import static io.jccl.integration.ResultsTest.longs;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.CommunicationTimeoutException;
import io.jccl.DataBuffer;
import io.jccl.Messages;
import io.jccl.ReduceOp;
import io.jccl.UniqueId;
import io.jccl.Work;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The dumps that ranks write to {@code JCCL_DUMP_DIR}. The tests of {@code jccl trace} read dumps. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FlightRecorderTest {

    private static final Duration LIMIT = Duration.ofSeconds(60L * LocalRanks.SLOWNESS);
    private static final String DUMP_DIR = "JCCL_DUMP_DIR";

    @TempDir
    Path folder;

    @AfterEach
    void forgetTheFolder() {
        System.clearProperty(DUMP_DIR);
    }

    @Test
    void everyRankOfAHangDumpsItsPosition() throws Exception {
        Path dumps = folder.resolve("not/there/yet");
        try (ProcessRanks ranks = ProcessRanks.start(
                UniqueId.create(),
                folder,
                3,
                rank -> List.of("env", DUMP_DIR + "=" + dumps),
                "work",
                Long.toString(2000L * LocalRanks.SLOWNESS),
                "1",
                "absent")) {
            for (int rank = 0; rank < 3; rank += 2) {
                ranks.awaitOutput(rank, text -> text.contains("CLOSED"), LIMIT);
                assertThat(ranks.output(rank)).contains("CommunicationTimeoutException[1]");
            }
            List<String> texts = awaitDumps(dumps, 3);
            for (int rank = 0; rank < 3; rank++) {
                int mine = rank;
                String text = texts.stream()
                        .filter(it -> it.contains("\"rank\":" + mine + ",\"size\":3"))
                        .findFirst()
                        .orElseThrow();
                assertThat(text).contains("\"type\":\"CommunicationTimeoutException\",\"ranks\":[1]");
                long last = values(text, "sequence").stream()
                        .mapToLong(it -> it)
                        .max()
                        .orElseThrow();
                assertThat(last).isEqualTo(rank == 1 ? 200 : 201);
                if (rank != 1) {
                    assertThat(lineOf(text, 201)).containsPattern("\"state\":\"(running|failed)\"");
                    assertThat(text).containsPattern("\"channel\":\\d+,\"peer\":\\d,\"transport\":\"shm\"");
                }
                requireTimesInOrder(text);
            }
            assertThat(texts).anySatisfy(text -> assertThat(lineOf(text, 201))
                    .containsPattern("\"waited\":\\d{9,},\"waited_for\":1"));
        }
    }

    private static void requireTimesInOrder(String text) {
        List<Long> begun = values(text, "begun");
        assertThat(begun).hasSizeGreaterThanOrEqualTo(200).isSorted();
        List<Long> ended = values(text, "ended");
        for (int i = 0; i < ended.size(); i++) {
            assertThat(ended.get(i)).isGreaterThanOrEqualTo(begun.get(i));
        }
        assertThat(values(text, "nanos").get(0)).isGreaterThanOrEqualTo(begun.get(begun.size() - 1));
    }

    @Test
    void queuedOperationsAreDumpedWithTheTimeOfTheirIssue() throws Exception {
        System.setProperty(DUMP_DIR, folder.toString());
        CountDownLatch issuedByRank0 = new CountDownLatch(1);
        long before = System.nanoTime();
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                if (comm.rank() == 1) {
                    issuedByRank0.await();
                    Thread.sleep(100);
                }
                List<Work> issued = new ArrayList<>();
                for (int i = 0; i < 3; i++) {
                    issued.add(comm.allReduce(DataBuffer.of(longs(new long[10])), ReduceOp.SUM));
                }
                issuedByRank0.countDown();
                issued.forEach(Work::await);
            });
            ranks.get(0).abort();
            assertThatThrownBy(() -> ranks.get(0).barrier().await()).hasMessageContaining("aborted");
        }
        String text = awaitDumps(folder, 2).stream()
                .filter(it -> it.contains("\"rank\":0,"))
                .findFirst()
                .orElseThrow();
        List<Long> issued = values(text, "issued");
        List<Long> begun = values(text, "begun");
        assertThat(issued).hasSize(3).isSorted();
        assertThat(issued.get(0)).isGreaterThanOrEqualTo(before);
        assertThat(begun.get(2) - issued.get(2)).isGreaterThan(50_000_000);
    }

    @Test
    void sendsAndReceivesAreRecorded() throws Exception {
        System.setProperty(DUMP_DIR, folder.toString());
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                comm.barrier().await();
                DataBuffer data = DataBuffer.of(longs(new long[comm.rank() == 0 ? 100 : 50]));
                DataBuffer other = DataBuffer.of(longs(new long[comm.rank() == 0 ? 50 : 100]));
                comm.sendReceive(data, 1 - comm.rank(), other, 1 - comm.rank()).await();
            });
            ranks.get(0).abort();
        }
        String text = awaitDumps(folder, 2).stream()
                .filter(it -> it.contains("\"rank\":0,"))
                .findFirst()
                .orElseThrow();
        assertThat(text)
                .contains("{\"number\":1,\"after\":1,\"state\":\"done\",\"sends\":1,\"to\":1,\"sent_bytes\":800,"
                        + "\"receives\":1,\"from\":1,\"received_bytes\":400,");
    }

    @Test
    void messagesThatAreNotOverAreDumpedWithRankAndTag() throws Exception {
        System.setProperty(DUMP_DIR, folder.toString());
        long before = System.nanoTime();
        try (LocalRanks ranks = LocalRanks.start(
                2, LocalRanks.config().timeout(Duration.ofMillis(500)).build())) {
            ranks.get(0).messages().sendAsync(1, 7, DataBuffer.of(longs(new long[100_000])));
            ranks.get(0).messages().send(1, 6, DataBuffer.of(longs(new long[1])));
            ranks.get(0).messages().receiveAsync(Messages.ANY, 8, DataBuffer.of(longs(new long[1])));
            assertThatThrownBy(() -> ranks.get(0).messages().receive(1, 9, DataBuffer.of(longs(new long[1]))))
                    .isInstanceOf(CommunicationTimeoutException.class);
        }
        String text = awaitDumps(folder, 2).stream()
                .filter(it -> it.contains("\"rank\":0,"))
                .findFirst()
                .orElseThrow();
        assertThat(text)
                .containsPattern("\"call\":\"send\\(peer=1 tag=7 bytes=800000\\)\",\"begun\":\\d+,\"awaited\":false")
                .containsPattern("\"call\":\"receive\\(source=any tag=8 bytes=8\\)\",\"begun\":\\d+,\"awaited\":false")
                .containsPattern("\"call\":\"receive\\(source=1 tag=9 bytes=8\\)\",\"begun\":\\d+,\"awaited\":true")
                .doesNotContain("tag=6");
        assertThat(values(text, "begun")).hasSize(3).isSorted().allMatch(begun -> begun - before >= 0);
    }

    @Test
    void bytesOfVFormsAreThoseOfTheRank() throws Exception {
        System.setProperty(DUMP_DIR, folder.toString());
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                int rank = comm.rank();
                DataBuffer few = DataBuffer.of(longs(new long[10 + rank]));
                DataBuffer all = DataBuffer.of(longs(new long[21]));
                DataBuffer more = DataBuffer.of(longs(new long[30]));
                comm.allGatherV(few, all, new long[] {10, 11}).await();
                // Rank 0 sends 1 and 2 elements and receives 1 and 30.
                comm.allToAllV(
                                more,
                                rank == 0 ? new long[] {1, 2} : new long[] {30, 4},
                                new long[2],
                                DataBuffer.of(longs(new long[40])),
                                rank == 0 ? new long[] {1, 30} : new long[] {2, 4},
                                new long[] {0, rank == 0 ? 1 : 2})
                        .await();
            });
            ranks.get(0).abort();
        }
        String text = awaitDumps(folder, 2).stream()
                .filter(it -> it.contains("\"rank\":0,"))
                .findFirst()
                .orElseThrow();
        assertThat(lineOf(text, 1)).contains("all_gather").contains("\"count\":0,\"bytes\":168,");
        assertThat(lineOf(text, 2)).contains("all_to_all").contains("\"count\":0,\"bytes\":248,");
    }

    @Test
    void folderThatCannotBeCreatedDisturbsNothing() throws Exception {
        Path file = Files.writeString(folder.resolve("file"), "no folder");
        System.setProperty(DUMP_DIR, file.toString());
        try (InitLog log = new InitLog("io.jccl.runtime.FlightRecorder");
                LocalRanks ranks = LocalRanks.start(
                        2, LocalRanks.config().timeout(Duration.ofMillis(500)).build())) {
            long begin = System.nanoTime();
            assertThatThrownBy(() -> ranks.get(0).barrier().await()).isInstanceOf(CommunicationTimeoutException.class);
            assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(5));
            assertThat(log.lines()).anySatisfy(line -> assertThat(line)
                    .contains("JCCL_DUMP_DIR=" + file)
                    .contains("is no folder")
                    .contains("name a folder with space"));
        }
        assertThat(Files.readString(file)).isEqualTo("no folder");
    }

    @Test
    void nothingIsWrittenUnlessAFolderIsNamed() throws Exception {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.get(0).abort();
        }
        assertThat(dumps(folder)).isEmpty();
    }

    /** Waits until there are {@code count} dumps, and returns them. Dumps appear as complete files. */
    static List<String> awaitDumps(Path dumps, int count) throws Exception {
        long end = System.nanoTime() + LIMIT.toNanos();
        while (dumps(dumps).size() < count) {
            assertThat(System.nanoTime()).as(() -> "dumps in " + dumps).isLessThan(end);
            Thread.sleep(10);
        }
        List<String> texts = new ArrayList<>();
        for (Path file : dumps(dumps)) {
            texts.add(Files.readString(file));
        }
        assertThat(texts)
                .hasSize(count)
                .allSatisfy(text -> assertThat(text).startsWith("{").endsWith("}\n"));
        return texts;
    }

    private static List<Path> dumps(Path folder) throws IOException {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".json")).toList();
        }
    }

    /** Returns the values of all fields with a name, in the order of the text. */
    private static List<Long> values(String text, String name) {
        Matcher matcher = Pattern.compile("\"" + name + "\":(\\d+)").matcher(text);
        List<Long> values = new ArrayList<>();
        while (matcher.find()) {
            values.add(Long.parseLong(matcher.group(1)));
        }
        return values;
    }

    private static String lineOf(String text, long sequence) {
        return text.lines()
                .filter(line -> line.startsWith("{\"sequence\":" + sequence + ","))
                .findFirst()
                .orElse("");
    }
}
