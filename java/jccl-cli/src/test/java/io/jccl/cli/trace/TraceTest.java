package io.jccl.cli.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.jccl.cli.output.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TraceTest {

    private static final long MS = 1_000_000;

    @TempDir
    Path folder;

    private List<String> findings(Dumps... dumps) throws IOException {
        List<Dump> all = read(dumps);
        return new Comparison(all, Clocks.of(all))
                .findings().stream().map(Comparison.Finding::text).toList();
    }

    private List<Dump> read(Dumps... dumps) throws IOException {
        List<Dump> all = new ArrayList<>();
        for (Dumps one : dumps) {
            all.add(one.dump(folder));
        }
        return all;
    }

    @Test
    void theFirstDifferenceNamesTheMinorityFirst() throws IOException {
        String broadcast = "\"type\":\"float32\",\"count\":1024,\"root\":1,";
        assertThat(findings(
                        Dumps.of(0, 3).allReduce(1, 2).allReduce(3, 4).allReduce(5, 0),
                        Dumps.of(1, 3)
                                .allReduce(1, 2)
                                .operation("broadcast", broadcast, 3, 4)
                                .allReduce(5, 0),
                        Dumps.of(2, 3).allReduce(1, 2).allReduce(3, 4).allReduce(5, 0)))
                .contains("first difference: sequence=2: rank=1 called broadcast(type=float32 count=1024 root=1),"
                        + " ranks=0,2 called all_reduce(type=float32 op=sum count=1024)");
    }

    @Test
    void ranksThatNeverEnteredAreNamedWithWhatOthersWaitFor() throws IOException {
        List<String> findings = findings(
                Dumps.of(0, 4).allReduce(1, 2).allReduce(100 * MS, 0).waitsFor(2),
                Dumps.of(1, 4).allReduce(1, 2).allReduce(101 * MS, 0),
                Dumps.of(2, 4).allReduce(1, 2));
        assertThat(findings)
                .contains(
                        "no dump of rank=3: killed, on a host with another folder, or without a report of the failure",
                        "rank=2 never entered sequence=2 all_reduce(type=float32 op=sum count=1024)",
                        "under way at ranks=0,1: sequence=2 all_reduce(type=float32 op=sum count=1024), for 900.0 ms",
                        "rank=0 channel=0 waits for data from rank=2 over shm, simple step=7")
                .noneMatch(line -> line.startsWith("first difference"));
    }

    @Test
    void messagesThatAreNotOverAreNamed() throws IOException {
        assertThat(findings(
                        Dumps.of(0, 2).message("receive(source=any tag=7 bytes=8)", true),
                        Dumps.of(1, 2).clock("clock-b", 77, 0).message("send(peer=0 tag=8 bytes=99999)", false)))
                .contains(
                        "rank=0 receive(source=any tag=7 bytes=8) is awaited, for 500.0 ms",
                        "rank=1 send(peer=0 tag=8 bytes=99999) is not over, for 500.0 ms");
    }

    @Test
    void healthyRanksHaveNoDifference() throws IOException {
        assertThat(findings(
                        Dumps.of(0, 2).allReduce(1, 2).allReduce(3, 4),
                        Dumps.of(1, 2).allReduce(1, 2).allReduce(3, 4)))
                .noneMatch(line -> line.contains("difference") || line.contains("never") || line.contains("no dump"));
    }

    @Test
    void theRankThatEntersLastIsFound() throws IOException {
        Dumps[] dumps = new Dumps[3];
        for (int rank = 0; rank < 3; rank++) {
            dumps[rank] = Dumps.of(rank, 3);
            for (int i = 1; i <= 10; i++) {
                long late = rank == 1 && i <= 9 ? i * MS : rank == 2 && i == 10 ? MS / 2 : 0;
                dumps[rank].allReduce(i * 100 * MS + late, i * 100 * MS + 50 * MS);
            }
        }
        assertThat(findings(dumps))
                .contains(
                        "rank=1 entered last in 9 of 10 operations, 5.0 ms after the median rank in the median, 9.0 ms at most",
                        "latest entry: sequence=9 by rank=1, 9.0 ms after the median rank");
    }

    /**
     * The clocks of the two ranks differ by up to a day. The times of day of their hosts differ by more than an
     * operation takes.
     */
    @ParameterizedTest
    @CsvSource({"5000000000, 3000000, 1", "-86400000000000, -250000000, 2", "1, 60000000000, 3"})
    void clocksAreAlignedByOperationsThatSynchronise(long ahead, long wrong, long seed) throws IOException {
        Random random = new Random(seed);
        Dumps here = Dumps.of(0, 2).clock("clock-a", 0, 0);
        Dumps there = Dumps.of(1, 2).clock("clock-b", ahead, wrong);
        for (int i = 1; i <= 200; i++) {
            long begin = i * 10 * MS + random.nextInt(100_000);
            long otherBegin = i * 10 * MS + random.nextInt(100_000);
            long met = Math.max(begin, otherBegin);
            here.allReduce(begin, met + 5_000 + random.nextInt(50_000));
            there.allReduce(otherBegin, met + 5_000 + random.nextInt(50_000));
        }
        List<Dump> dumps = read(here, there);
        Clocks clocks = Clocks.of(dumps);
        assertThat(clocks.align(dumps.get(0), 17)).isEqualTo(17);
        assertThat(clocks.align(dumps.get(1), ahead)).isCloseTo(0, within(20_000L));
        assertThat(clocks.describe()).matches("2 clocks, aligned to \\d+\\.\\d us by operations that all ranks ended");
        for (int i = 0; i < 200; i++) {
            long begun = clocks.align(
                    dumps.get(1), dumps.get(1).operations().get(i).times().begun());
            long ended = clocks.align(
                    dumps.get(1), dumps.get(1).operations().get(i).times().ended());
            assertThat(dumps.get(0).operations().get(i).times().ended()).isGreaterThanOrEqualTo(begun);
            assertThat(ended)
                    .isGreaterThanOrEqualTo(
                            dumps.get(0).operations().get(i).times().begun());
        }
    }

    @Test
    void clocksAreAlignedByTheSystemsTimeIfNoOperationSynchronises() throws IOException {
        List<Dump> dumps = read(Dumps.of(0, 2), Dumps.of(1, 2).clock("clock-b", 5_000 * MS, 2 * MS));
        Clocks clocks = Clocks.of(dumps);
        assertThat(clocks.align(dumps.get(1), 5_000 * MS)).isEqualTo(2 * MS);
        assertThat(clocks.describe()).isEqualTo("2 clocks, 1 by the systems' time only, as no operation bounds them");
    }

    @Test
    void theTimelineHasAProcessForEachHostAndARowForEachRank() throws IOException {
        List<Dump> dumps = read(
                Dumps.of(0, 3).allReduce(MS, 5 * MS).allReduce(10 * MS, 0).waitsFor(2),
                Dumps.of(1, 3).allReduce(2 * MS, 5 * MS).allReduce(11 * MS, 0),
                Dumps.of(2, 3).clock("clock-b", 77 * MS, 0).allReduce(3 * MS, 5 * MS));
        String json =
                Json.line(out -> TimelineWriter.write(List.of(new TimelineWriter.Group(dumps, Clocks.of(dumps))), out));
        JsonNode events = new ObjectMapper().readTree(json).get("traceEvents");
        List<JsonNode> slices = phase(events, "X");
        assertThat(slices).hasSize(5);
        assertThat(slices).extracting(slice -> slice.get("pid").asInt()).containsExactly(0, 0, 0, 0, 1);
        assertThat(slices).extracting(slice -> slice.get("tid").asInt()).containsExactly(1, 1, 2, 2, 3);
        assertThat(slices.get(0).get("ts").asDouble()).isZero();
        assertThat(slices.get(0).get("dur").asDouble()).isEqualTo(4000);
        assertThat(slices.get(1).get("name").asText()).isEqualTo("all_reduce (running)");
        assertThat(slices.get(1).get("dur").asDouble()).isEqualTo(990_000);
        assertThat(slices.get(1).get("args").get("waits").asText()).contains("waits for data from rank=2");
        assertThat(slices.get(4).get("ts").asDouble()).isCloseTo(2000, within(2000.0));
        List<JsonNode> flow = new ArrayList<>();
        for (String phase : List.of("s", "t", "f")) {
            flow.addAll(phase(events, phase).stream()
                    .filter(event -> event.get("id").asInt() == 1)
                    .toList());
        }
        assertThat(flow).hasSize(3);
        assertThat(phase(events, "M"))
                .extracting(event -> event.path("args").path("name").asText())
                .contains("host host-clock-a", "host host-clock-b", "rank 2 of 00112233");
    }

    @Test
    void sendsOfGpuMemoryAreInTheTimeline() throws IOException {
        List<Dump> dumps = read(
                Dumps.of(0, 2).allReduce(MS, 5 * MS).deviceSend(1, 6 * MS, 9 * MS),
                Dumps.of(1, 2).allReduce(MS, 5 * MS));
        String json =
                Json.line(out -> TimelineWriter.write(List.of(new TimelineWriter.Group(dumps, Clocks.of(dumps))), out));
        List<JsonNode> sends = phase(new ObjectMapper().readTree(json).get("traceEvents"), "X").stream()
                .filter(slice -> slice.get("cat").asText().equals("device transfer"))
                .toList();
        assertThat(sends).singleElement().satisfies(send -> {
            assertThat(send.get("name").asText()).isEqualTo("send to 1");
            assertThat(send.get("dur").asDouble()).isEqualTo(3000);
            assertThat(send.get("args").get("bytes").asLong()).isEqualTo(1024);
        });
    }

    private static List<JsonNode> phase(JsonNode events, String phase) {
        List<JsonNode> found = new ArrayList<>();
        events.forEach(event -> {
            if (event.get("ph").asText().equals(phase)) {
                found.add(event);
            }
        });
        return found;
    }

    @Test
    void theLastOfSeveralDumpsOfARankCounts() throws IOException {
        Files.writeString(
                folder.resolve("jccl-00112233-rank0-1.json"),
                Dumps.of(0, 1).taken(5).allReduce(1, 2).text());
        Dumps.of(0, 1).taken(9).allReduce(1, 2).allReduce(3, 4).write(folder);
        DumpReader.Found found = DumpReader.readAll(folder);
        assertThat(found.problems()).isEmpty();
        assertThat(found.dumps()).hasSize(1);
        assertThat(found.dumps().get(0).operations()).hasSize(2);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "no json",
                "[]",
                "{\"version\":1}",
                "{\"version\":2}",
                "{\"version\":1,\"size\":0}",
                "{\"version\":1,\"communicator\":1,\"session\":\"s\",\"rank\":5,\"size\":2}"
            })
    void aFileThatIsNoDumpIsNamed(String content) throws IOException {
        Path good = Dumps.of(0, 2).write(folder);
        Path bad = Files.writeString(folder.resolve("jccl-bad.json"), content);
        DumpReader.Found found = DumpReader.readAll(folder);
        assertThat(found.dumps()).extracting(Dump::file).containsExactly(good);
        assertThat(found.problems())
                .singleElement()
                .asString()
                .startsWith("file=" + bad + ": is no dump of a rank (")
                .hasSizeLessThan(400);
    }

    /** A damaged file is either read as a dump or refused with an error that names the file. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void damagedDumpsAreRefusedOrRead(long seed) throws IOException {
        Random random = new Random(seed);
        String whole =
                Dumps.of(0, 2).allReduce(1, 2).allReduce(3, 0).waitsFor(1).text();
        Path file = folder.resolve("jccl-damaged.json");
        for (int i = 0; i < 300; i++) {
            StringBuilder text = new StringBuilder(whole);
            for (int changes = 1 + random.nextInt(3); changes > 0; changes--) {
                int at = random.nextInt(text.length());
                switch (random.nextInt(3)) {
                    case 0 -> text.setLength(Math.max(1, at));
                    case 1 -> text.setCharAt(at, (char) (32 + random.nextInt(95)));
                    default -> text.insert(at, random.nextInt());
                }
            }
            Files.writeString(file, text);
            try {
                List<Dump> dumps = List.of(DumpReader.read(file));
                Clocks clocks = Clocks.of(dumps);
                new Comparison(dumps, clocks).findings();
                Json.line(out -> TimelineWriter.write(List.of(new TimelineWriter.Group(dumps, clocks)), out));
            } catch (IllegalArgumentException e) {
                assertThat(e).hasMessageStartingWith("file=" + file);
            }
        }
    }

    @Test
    void aFolderWithoutDumpsIsAnError() {
        assertThatThrownBy(() -> DumpReader.readAll(folder))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("DIR=" + folder)
                .hasMessageContaining("JCCL_DUMP_DIR");
        assertThatThrownBy(() -> DumpReader.readAll(folder.resolve("missing")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("cannot be read");
    }

    @ParameterizedTest
    @CsvSource({"'3', rank=3", "'0,1', 'ranks=0,1'", "'0,2,3,4,7', 'ranks=0,2-4,7'"})
    void ranksAreListedInRanges(String ranks, String text) {
        TreeSet<Integer> set = new TreeSet<>();
        for (String rank : ranks.split(",")) {
            set.add(Integer.parseInt(rank));
        }
        assertThat(Comparison.ranks(set)).isEqualTo(text);
    }
}
