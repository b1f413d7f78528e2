package io.jccl.cli.topo;

import io.jccl.Algorithm;
import io.jccl.Protocol;
import io.jccl.cli.output.TextTable;
import io.jccl.topology.LinkType;
import io.jccl.topology.PathType;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Explains the abbreviations that some reports use, as text. */
final class TextLegend {

    private final List<TopologyReport> reports;
    private final List<HostView> hosts;
    private final Map<String, String> rows = new LinkedHashMap<>();

    private TextLegend(List<TopologyReport> reports, List<HostView> hosts) {
        this.reports = reports;
        this.hosts = hosts;
        bandwidths();
        nodes();
        links();
        paths();
        channels();
        choices();
    }

    /** Returns the legend of some reports; {@code hosts} are their hosts in the same order. */
    static String of(List<TopologyReport> reports, List<HostView> hosts) {
        TextTable table = new TextTable("LEGEND", "");
        new TextLegend(reports, hosts).rows.forEach(table::row);
        return table.toString();
    }

    private Stream<Wire> wires() {
        return hosts.stream().flatMap(host -> host.wires().stream());
    }

    private void bandwidths() {
        rows.put("GB/s", "10^9 bytes per second, in each direction");
        if (wires().anyMatch(wire -> wire.there() != wire.back())) {
            rows.put("a/b", "GB/s there and back, where they differ");
        }
        if (wires().anyMatch(Wire::isInside)) {
            rows.put(Numbers.INSIDE, "a link that limits nothing");
        }
    }

    private void nodes() {
        for (HostView host : hosts) {
            for (String name : host.names()) {
                String prefix = name.substring(0, name.indexOf('/') + 1);
                rows.put(
                        prefix,
                        prefix.equals("DEV/") ? "GPU without a rank, by PCI address" : Meanings.of(host.type(name)));
            }
        }
    }

    private void links() {
        for (LinkType type : LinkType.values()) {
            if (wires().anyMatch(wire -> wire.type() == type)) {
                rows.put("link " + type, Meanings.of(type));
            }
        }
    }

    private void paths() {
        List<String> reasons = reports.stream()
                .flatMap(report -> Summary.apart(report).stream())
                .toList();
        for (PathType type : PathType.values()) {
            boolean isNamed = reasons.stream().anyMatch(reason -> reason.matches(".*\\b" + type + "\\b.*"));
            if (isNamed
                    || reports.stream()
                            .flatMap(report -> report.paths().stream())
                            .anyMatch(path -> path.type() == type
                                    && !path.from().equals(path.to())
                                    && !path.from().startsWith("NET/"))) {
                rows.put("path " + type, Meanings.of(type));
            }
        }
    }

    private void channels() {
        List<ChannelGroup> groups = reports.stream()
                .flatMap(report -> Summary.channelGroups(report).values().stream())
                .flatMap(List::stream)
                .toList();
        if (reports.stream()
                .flatMap(report -> report.graphs().values().stream())
                .anyMatch(row -> row.graph().channels() > 1)) {
            rows.put("4 × 20", "4 channels of 20 GB/s each");
        }
        for (ChannelGroup group : groups) {
            rows.put("0" + group.arrow() + "1", Meanings.ofArrow(group));
        }
    }

    private void choices() {
        List<TopologyReport.TuningRow> tuning = reports.get(0).tuning();
        for (Algorithm algorithm : Algorithm.values()) {
            if (tuning.stream().anyMatch(row -> row.choice().algorithm() == algorithm)) {
                rows.put(algorithm.label(), Meanings.of(algorithm));
            }
        }
        for (Protocol protocol : Protocol.values()) {
            if (tuning.stream().anyMatch(row -> row.choice().protocol() == protocol)) {
                rows.put(protocol.label(), Meanings.of(protocol));
            }
        }
        if (!tuning.isEmpty()) {
            rows.put("KiB, MiB", "1024 bytes, 1024 KiB");
            rows.put("us", "microseconds for one operation, by the cost model");
        }
    }
}
