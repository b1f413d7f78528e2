package io.jccl.cli.topo;

import com.fasterxml.jackson.core.JsonGenerator;
import io.jccl.cli.output.Json;
import io.jccl.search.ChannelGraph;
import io.jccl.tuning.TopologyReport;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** Writes a topology report by {@code docs/schema/topo.schema.json}. */
public final class TopoJson {

    private TopoJson() {}

    /** The report as text. */
    public static String write(TopologyReport report) {
        return Json.pretty(json -> {
            json.writeStartObject();
            json.writeStringField("source", report.source());
            json.writeStringField("version", report.version());
            writeNodes(json, report.nodes());
            writePaths(json, report.paths());
            json.writeObjectFieldStart("graphs");
            for (Map.Entry<String, TopologyReport.GraphRow> graph :
                    report.graphs().entrySet()) {
                writeGraph(json, graph.getKey(), graph.getValue());
            }
            json.writeEndObject();
            if (report.plan().isPresent()) {
                writePlan(json, report.plan().get());
            } else {
                json.writeNullField("plan");
            }
            writeTuning(json, report.tuning());
            json.writeEndObject();
        });
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
                graph.nets().stream()
                        .map(nets -> List.of(nets.in(), nets.out()))
                        .toList());
        Json.number(json, "search_ms", row.searchMillis());
        json.writeEndObject();
    }

    private static void writePlan(JsonGenerator json, TopologyReport.PlanRow plan) throws IOException {
        json.writeObjectFieldStart("plan");
        json.writeNumberField("ranks", plan.ranks());
        json.writeNumberField("machines", plan.machines());
        json.writeNumberField("channels", plan.channels());
        writeLists(json, "rings", plan.rings());
        json.writeArrayFieldStart("trees");
        for (TopologyReport.TreeRow tree : plan.trees()) {
            json.writeStartObject();
            json.writeFieldName("up");
            writeList(json, tree.up());
            writeLists(json, "down", tree.down());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private static void writeTuning(JsonGenerator json, List<TopologyReport.TuningRow> rows) throws IOException {
        json.writeArrayFieldStart("tuning");
        for (TopologyReport.TuningRow row : rows) {
            json.writeStartObject();
            json.writeStringField("collective", row.collective().label());
            json.writeNumberField("bytes", row.bytes());
            json.writeStringField("algorithm", row.choice().algorithm().label());
            json.writeStringField("protocol", row.choice().protocol().label());
            json.writeNumberField("channels", row.choice().channels());
            Json.number(json, "time_us", row.timeMicros());
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
