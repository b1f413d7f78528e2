package io.jccl.cli.topo;

import com.fasterxml.jackson.core.JsonGenerator;
import io.jccl.cli.output.Json;
import io.jccl.planning.DoubleBinaryTree;
import io.jccl.planning.Plan;
import io.jccl.search.ChannelGraph;
import io.jccl.search.GraphSummary;
import io.jccl.topology.NodeType;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/** Writes topology reports in the form of {@code docs/schema/topo.schema.json}. */
public final class TopoJson {

    private final TopologyReport report;
    private final List<TopologyReport> all;
    private final OptionalInt rank;
    private final JsonGenerator json;

    private TopoJson(List<TopologyReport> all, OptionalInt rank, JsonGenerator json) {
        this.report = all.get(0);
        this.all = all;
        this.rank = rank;
        this.json = json;
    }

    /**
     * Writes a report, or those of several hosts under one plan. The first report is written as if it were alone, and
     * of the others only the facts about their host. The plan is not copied, because a plan of many ranks takes much
     * memory.
     *
     * @param reports at least one
     * @param rank the only rank of the plan to write, with only the paths from and to its endpoint; empty for all ranks
     * @param out stream that stays open
     */
    public static void write(List<TopologyReport> reports, OptionalInt rank, OutputStream out) {
        Json.pretty(out, json -> new TopoJson(reports, rank, json).write());
    }

    private void write() throws IOException {
        json.writeStartObject();
        json.writeStringField("source", report.source());
        json.writeStringField("version", report.version());
        writeHost(0);
        if (report.plan().isPresent()) {
            writePlan(report.plan().get());
        } else {
            json.writeNullField("plan");
        }
        writeTuning(json, "tuning", report.tuning());
        if (!report.tuningOfThreads().isEmpty()) {
            writeTuning(json, "tuning_of_threads", report.tuningOfThreads());
        }
        if (all.size() > 1) {
            json.writeArrayFieldStart("others");
            for (int host = 1; host < all.size(); host++) {
                json.writeStartObject();
                json.writeStringField("source", all.get(host).source());
                writeHost(host);
                json.writeEndObject();
            }
            json.writeEndArray();
        }
        json.writeEndObject();
    }

    private void writeHost(int host) throws IOException {
        writeNodes(json, all.get(host).nodes());
        writePaths(json, paths(host));
        json.writeObjectFieldStart("graphs");
        for (Map.Entry<String, TopologyReport.GraphRow> graph :
                all.get(host).graphs().entrySet()) {
            writeGraph(json, graph.getKey(), graph.getValue());
        }
        json.writeEndObject();
        writeSharedGpus(all.get(host).sharedGpus());
    }

    private void writeSharedGpus(Map<String, List<Integer>> shared) throws IOException {
        if (shared.isEmpty()) {
            return;
        }
        json.writeArrayFieldStart("shared_gpus");
        for (Map.Entry<String, List<Integer>> gpu : shared.entrySet()) {
            json.writeStartObject();
            json.writeStringField("busid", gpu.getKey());
            json.writeFieldName("ranks");
            writeList(json, gpu.getValue());
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private List<TopologyReport.PathRow> paths(int host) {
        List<TopologyReport.PathRow> paths = all.get(host).paths();
        if (rank.isEmpty() || report.plan().isEmpty()) {
            return paths;
        }
        Plan plan = report.plan().get();
        if (all.size() > 1 && plan.hostOf(rank.getAsInt()).index() != host) {
            return List.of();
        }
        String end = endpoint(plan, all.get(host));
        return paths.stream()
                .filter(path -> path.from().equals(end) || path.to().equals(end))
                .toList();
    }

    /** Returns the endpoint of the rank: the n-th rank of a host has the endpoint with the n-th lowest local number. */
    private String endpoint(Plan plan, TopologyReport host) {
        int place = plan.hostOf(rank.getAsInt()).ranks().indexOf(rank.getAsInt());
        List<Integer> local = host.graphs().get("ring").graph().orders().get(0).stream()
                .sorted()
                .toList();
        return host.nodes().stream()
                .filter(node -> NodeType.valueOf(node.type()).isEndpoint()
                        && node.name().endsWith("/" + local.get(place)))
                .findFirst()
                .orElseThrow()
                .name();
    }

    private static void writeNodes(JsonGenerator json, List<TopologyReport.NodeRow> nodes) throws IOException {
        json.writeArrayFieldStart("nodes");
        for (TopologyReport.NodeRow node : nodes) {
            json.writeStartObject();
            json.writeStringField("name", node.name());
            json.writeStringField("type", node.type());
            json.writeArrayFieldStart("links");
            for (TopologyReport.LinkRow link : node.links()) {
                json.writeStartObject();
                json.writeStringField("type", link.type());
                Json.number(json, "bw", link.bw());
                json.writeStringField("to", link.to());
                json.writeEndObject();
            }
            json.writeEndArray();
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private static void writePaths(JsonGenerator json, List<TopologyReport.PathRow> paths) throws IOException {
        json.writeArrayFieldStart("paths");
        for (TopologyReport.PathRow path : paths) {
            json.writeStartObject();
            json.writeStringField("from", path.from());
            json.writeStringField("to", path.to());
            json.writeStringField("type", path.type().name());
            Json.number(json, "bw", path.bw());
            json.writeNumberField("hops", path.hops());
            json.writeArrayFieldStart("via");
            for (String via : path.via()) {
                json.writeString(via);
            }
            json.writeEndArray();
            if (path.isBetweenGpus()) {
                json.writeBooleanField("peer_access", path.apart().isEmpty());
            }
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private static void writeGraph(JsonGenerator json, String name, TopologyReport.GraphRow row) throws IOException {
        ChannelGraph graph = row.graph();
        json.writeObjectFieldStart(name);
        json.writeStringField("pattern", graph.pattern().name());
        json.writeNumberField("channels", graph.channels());
        Json.number(json, "bw_intra", graph.bwIntra());
        Json.number(json, "bw_inter", graph.bwInter());
        json.writeStringField("type_intra", graph.typeIntra().name());
        json.writeStringField("type_inter", graph.typeInter().name());
        json.writeBooleanField("cross_nic", graph.crossNic());
        writeLists(json, "orders", graph.orders());
        writeLists(
                json,
                "nets",
                graph.rails().stream()
                        .map(rail -> List.of(rail.in(), rail.out()))
                        .toList());
        Json.number(json, "search_ms", row.searchMillis());
        json.writeEndObject();
    }

    private void writePlan(Plan plan) throws IOException {
        json.writeObjectFieldStart("plan");
        json.writeNumberField("ranks", plan.size());
        json.writeNumberField("machines", plan.hosts().size());
        json.writeNumberField("channels", plan.channels());
        if (rank.isPresent()) {
            json.writeNumberField("rank", rank.getAsInt());
        }
        json.writeArrayFieldStart("rings");
        for (int channel = 0; channel < plan.channels(); channel++) {
            int[] ring = plan.ring(channel);
            writeArray(rank.isPresent() ? neighbours(ring, rank.getAsInt()) : ring);
        }
        json.writeEndArray();
        json.writeArrayFieldStart("trees");
        int first = rank.orElse(0);
        int end = rank.isPresent() ? first + 1 : plan.size();
        for (int channel = 0; channel < plan.channels(); channel++) {
            writeTree(plan, channel, first, end);
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    /** Returns the rank before {@code rank} in a ring, {@code rank}, and the rank after it. */
    private static int[] neighbours(int[] ring, int rank) {
        int at = 0;
        while (ring[at] != rank) {
            at++;
        }
        return new int[] {ring[(at + ring.length - 1) % ring.length], rank, ring[(at + 1) % ring.length]};
    }

    private void writeTree(Plan plan, int channel, int first, int end) throws IOException {
        json.writeStartObject();
        json.writeArrayFieldStart("up");
        for (int member = first; member < end; member++) {
            json.writeNumber(plan.treeParent(channel, member));
        }
        json.writeEndArray();
        json.writeArrayFieldStart("down");
        for (int member = first; member < end; member++) {
            int[] down = plan.tree(channel, member).downRanks();
            int[] three = Arrays.copyOf(down, GraphSummary.MAX_TREE_CHILDREN);
            Arrays.fill(three, down.length, three.length, DoubleBinaryTree.NONE);
            writeArray(three);
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private void writeArray(int[] values) throws IOException {
        json.writeArray(values, 0, values.length);
    }

    private static void writeTuning(JsonGenerator json, String name, List<TopologyReport.TuningRow> rows)
            throws IOException {
        json.writeArrayFieldStart(name);
        for (TopologyReport.TuningRow row : rows) {
            json.writeStartObject();
            json.writeStringField("collective", row.collective().label());
            json.writeNumberField("bytes", row.bytes());
            json.writeStringField("algorithm", row.choice().algorithm().label());
            json.writeStringField("protocol", row.choice().protocol().label());
            json.writeNumberField("channels", row.choice().channels());
            Json.number(json, "time_us", row.timeMicros());
            if (row.boundMicros().isPresent()) {
                json.writeBooleanField("in_place", row.isInPlace());
                json.writeBooleanField("copies_symmetric", row.choice().tryCopies());
                json.writeBooleanField("reads_symmetric", row.readsSymmetric());
                Json.number(json, "bound_us", row.boundMicros().getAsDouble());
            }
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private static void writeLists(JsonGenerator json, String name, List<List<Integer>> lists) throws IOException {
        json.writeArrayFieldStart(name);
        for (List<Integer> list : lists) {
            writeList(json, list);
        }
        json.writeEndArray();
    }

    private static void writeList(JsonGenerator json, List<Integer> list) throws IOException {
        json.writeStartArray();
        for (int value : list) {
            json.writeNumber(value);
        }
        json.writeEndArray();
    }
}
