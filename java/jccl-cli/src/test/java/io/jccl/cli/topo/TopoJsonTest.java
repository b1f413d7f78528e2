package io.jccl.cli.topo;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

class TopoJsonTest {

    private static final TopologyReport REPORT = Reports.of(Reports.host(1, 2, 2, Reports.Fabric.SWITCH), 3);

    @Test
    void theOutputOfOneRankIsItsPartOfTheWholePlan() throws IOException {
        JsonNode whole = json(OptionalInt.empty());
        int ranks = whole.at("/plan/ranks").asInt();
        assertThat(ranks).isEqualTo(12);
        assertThat(whole.at("/plan/trees/0/down")).hasSize(ranks);
        for (int rank = 0; rank < ranks; rank++) {
            JsonNode one = json(OptionalInt.of(rank));
            assertThat(one.at("/plan/rank").asInt()).isEqualTo(rank);
            for (int channel = 0; channel < whole.at("/plan/channels").asInt(); channel++) {
                JsonNode ring = whole.at("/plan/rings/" + channel);
                int at = 0;
                while (ring.get(at).asInt() != rank) {
                    at++;
                }
                JsonNode mine = one.at("/plan/rings/" + channel);
                assertThat(mine).hasSize(3);
                assertThat(mine.get(0)).isEqualTo(ring.get((at + ranks - 1) % ranks));
                assertThat(mine.get(1).asInt()).isEqualTo(rank);
                assertThat(mine.get(2)).isEqualTo(ring.get((at + 1) % ranks));
                String tree = "/plan/trees/" + channel;
                assertThat(one.at(tree + "/up")).containsExactly(whole.at(tree + "/up/" + rank));
                assertThat(one.at(tree + "/down")).containsExactly(whole.at(tree + "/down/" + rank));
            }
            String end = "GPU/" + rank % 4;
            assertThat(one.at("/paths")).isNotEmpty().allSatisfy(path -> assertThat(new String[] {
                        path.at("/from").asText(), path.at("/to").asText()
                    })
                    .contains(end));
            assertThat(one.at("/graphs")).isEqualTo(whole.at("/graphs"));
        }
    }

    @Test
    void pathsBetweenGpusSayWhetherTheGpusUsePeerAccess() throws IOException {
        JsonNode report = json(List.of(Reports.of(Reports.host(2, 1, 2, Reports.Fabric.PCI), 1)), OptionalInt.empty());
        for (JsonNode path : report.get("paths")) {
            String from = path.get("from").asText();
            String to = path.get("to").asText();
            if (from.equals(to) || !from.startsWith("GPU/") || !to.startsWith("GPU/")) {
                assertThat(path.has("peer_access")).as("%s", path).isFalse();
            } else {
                boolean oneSocket = (from + to).matches("GPU/[01]GPU/[01]|GPU/[23]GPU/[23]");
                assertThat(path.get("peer_access").asBoolean()).as("%s", path).isEqualTo(oneSocket);
            }
        }
    }

    @Test
    void ranksThatShareAGpuAreReported() throws IOException {
        JsonNode shared = json(List.of(Reports.of(Reports.SHARED, 2)), OptionalInt.empty());
        assertThat(shared.get("shared_gpus")).hasToString("[{\"busid\":\"0000:11:00.0\",\"ranks\":[0,1,2]}]");
        assertThat(shared.at("/nodes/0/links/0")).hasToString("{\"type\":\"LOC\",\"bw\":1675.0,\"to\":\"GPU/1\"}");
        assertThat(json(OptionalInt.empty()).has("shared_gpus")).isFalse();
    }

    @Test
    void choicesBetweenGpusHaveTheBoundOfTheirLinks() throws IOException {
        JsonNode one = json(List.of(Reports.of(Reports.host(1, 2, 2, Reports.Fabric.SWITCH), 1)), OptionalInt.empty());
        for (String name : List.of("tuning", "tuning_of_threads")) {
            assertThat(one.get(name)).hasSizeGreaterThan(100).allSatisfy(row -> {
                assertThat(row.get("bound_us").asDouble()).isNotNegative();
                assertThat(row.get("time_us").asDouble())
                        .as("%s", row)
                        .isGreaterThanOrEqualTo(row.get("bound_us").asDouble());
            });
        }
        assertThat(one.get("tuning")).noneMatch(row -> row.get("in_place").asBoolean());
        assertThat(one.get("tuning_of_threads"))
                .anyMatch(row -> row.get("in_place").asBoolean());
        assertThat(json(OptionalInt.empty()).has("tuning_of_threads")).isFalse(); // several hosts
    }

    @Test
    void choicesOfHostRanksHaveNoBound() throws IOException {
        JsonNode host = json(
                List.of(Reports.of(
                        "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\"><host rank=\"0\"/><host rank=\"1\"/>"
                                + "</cpu></system>",
                        1)),
                OptionalInt.empty());
        assertThat(host.get("tuning")).hasSizeGreaterThan(100).noneMatch(row -> row.has("bound_us"));
        assertThat(host.has("tuning_of_threads")).isFalse();
    }

    @Test
    void theOutputOfOneRankStaysShortWithManyHosts() throws IOException {
        TopologyReport many = Reports.of(Reports.host(1, 2, 2, Reports.Fabric.SWITCH), 256);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        TopoJson.write(List.of(many), OptionalInt.of(700), out);
        ByteArrayOutputStream few = new ByteArrayOutputStream();
        TopoJson.write(List.of(REPORT), OptionalInt.of(7), few);
        assertThat(out.size()).isLessThan(2 * few.size());
    }

    @Test
    void theFirstOfDifferentHostsIsWrittenAsIfAloneAndTheOthersSeparately() throws IOException {
        List<TopologyReport> reports = Reports.ofUnlike(
                Reports.host(1, 2, 2, Reports.Fabric.SWITCH), Reports.host(1, 1, 3, Reports.Fabric.PCI));
        JsonNode whole = json(reports, OptionalInt.empty());
        JsonNode alone = json(List.of(reports.get(0)), OptionalInt.empty());
        assertThat(whole.at("/plan/ranks").asInt()).isEqualTo(7);
        assertThat(whole.at("/others")).hasSize(1);
        assertThat(whole.at("/others/0").fieldNames())
                .toIterable()
                .containsExactly("source", "nodes", "paths", "graphs");
        assertThat(whole.at("/others/0/graphs/ring/orders/0")).hasSize(3);
        alone.fieldNames()
                .forEachRemaining(name -> assertThat(whole.get(name)).as(name).isEqualTo(alone.get(name)));
        assertThat(alone.has("others")).isFalse();

        JsonNode last = json(reports, OptionalInt.of(6));
        assertThat(last.at("/paths")).isEmpty();
        assertThat(last.at("/others/0/paths")).isNotEmpty().allSatisfy(path -> assertThat(
                        new String[] {path.at("/from").asText(), path.at("/to").asText()})
                .contains("GPU/2"));
    }

    private static JsonNode json(OptionalInt rank) throws IOException {
        return json(List.of(REPORT), rank);
    }

    private static JsonNode json(List<TopologyReport> reports, OptionalInt rank) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        TopoJson.write(reports, rank, out);
        return new ObjectMapper().readTree(out.toByteArray());
    }
}
