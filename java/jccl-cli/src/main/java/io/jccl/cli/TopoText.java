package io.jccl.cli;

import io.jccl.cli.output.ByteSizes;
import io.jccl.cli.output.TextTable;
import io.jccl.tuning.TopologyReport;
import java.util.Locale;
import java.util.stream.Collectors;

/** Writes a topology report for people. */
final class TopoText {

    private TopoText() {}

    static String write(TopologyReport report) {
        StringBuilder out = new StringBuilder("source: " + report.source() + "\n\n");
        TextTable nodes = new TextTable("NODE", "LINKS (GB/s)");
        report.nodes()
                .forEach(node -> nodes.row(
                        node.name(),
                        node.links().stream()
                                .map(link -> link.type() + " " + number(link.bw()) + " to " + link.to())
                                .collect(Collectors.joining(", "))));
        TextTable paths = new TextTable("FROM", "TO", "TYPE", "GB/s", "HOPS");
        report.paths()
                .forEach(path -> paths.row(
                        path.from(), path.to(), path.type().name(), number(path.bw()), Integer.toString(path.hops())));
        out.append(nodes).append('\n').append(paths).append('\n');
        report.graphs()
                .forEach((name, row) -> out.append(String.format(
                        Locale.ROOT,
                        "%s: %d channels, %s GB/s each inside, %s between machines, orders %s (%.1f ms)%n",
                        name,
                        row.graph().channels(),
                        number(row.graph().bwIntra()),
                        number(row.graph().bwInter()),
                        row.graph().orders(),
                        row.searchMillis())));
        report.plan().ifPresent(plan -> out.append("plan: ranks ")
                .append(plan.ranks())
                .append(", machines ")
                .append(plan.machines())
                .append(", channels ")
                .append(plan.channels())
                .append(", rings ")
                .append(plan.rings())
                .append('\n'));
        TextTable tuning = new TextTable("COLLECTIVE", "SIZE", "ALGORITHM", "PROTOCOL", "CHANNELS", "PREDICTED us");
        report.tuning()
                .forEach(row -> tuning.row(
                        row.collective().label(),
                        ByteSizes.format(row.bytes()),
                        row.choice().algorithm().label(),
                        row.choice().protocol().label(),
                        Integer.toString(row.choice().channels()),
                        number(row.timeMicros())));
        if (!report.tuning().isEmpty()) {
            out.append('\n').append(tuning);
        }
        report.notes().forEach(note -> out.append("note: ").append(note).append('\n'));
        return out.toString().stripTrailing();
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, value < 100 ? "%.2f" : "%.0f", value);
    }
}
