package io.jccl.cli.topo;

import io.jccl.cli.output.ByteSizes;
import io.jccl.cli.output.TextTable;
import io.jccl.topology.LinkType;
import io.jccl.topology.NodeType;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Formats topology reports for people: the host, the paths and channels that were found on it, and the choices. */
public final class TopoText {

    /**
     * Limit on rows and columns of a table, so that it fits on a screen. If there are more, the text contains counts of
     * pairs instead of the table.
     */
    private static final int MAX_COLUMNS = 16;

    private static final int MAX_HOSTS_DRAWN = 16;

    private final TopologyReport report;
    private final HostView host;
    private final StringBuilder out = new StringBuilder();

    private TopoText(TopologyReport report, HostView host) {
        this.report = report;
        this.host = host;
    }

    /**
     * Returns a report as text, or those of several hosts under one plan.
     *
     * @param reports at least one
     */
    public static String write(List<TopologyReport> reports) {
        List<HostView> hosts = reports.stream().map(HostView::of).toList();
        StringBuilder all = new StringBuilder();
        for (int host = 0; host < reports.size(); host++) {
            String title = reports.size() > 1 ? "host " + host + ", " : "";
            TopoText text = new TopoText(reports.get(host), hosts.get(host));
            all.append(host > 0 ? "\n" : "").append(text.writeHost(title));
        }
        all.append(new TopoText(reports.get(0), hosts.get(0)).writePlanAndChoices(reports.size() > 1));
        reports.stream().flatMap(report -> report.notes().stream()).distinct().forEach(note -> all.append("\nnote: ")
                .append(note)
                .append('\n'));
        return all.append('\n').append(TextLegend.of(reports, hosts)).toString().stripTrailing();
    }

    private String writeHost(String title) {
        line(title + report.source() + ": " + Summary.host(host));
        Summary.sharedGpus(report).ifPresent(this::line);
        writeHost();
        writePaths();
        writeChannels();
        return out.toString();
    }

    private String writePlanAndChoices(boolean several) {
        writePlan(several);
        writeTuning();
        return out.toString();
    }

    private void line(String text) {
        out.append(text.stripTrailing()).append('\n');
    }

    private void heading(String text) {
        out.append('\n').append(text).append('\n');
    }

    private void writeHost() {
        heading("TOPOLOGY (links with GB/s each way)");
        for (String root : host.roots()) {
            writeTree(root, "", "", "");
        }
        for (String nvs : host.ofType(NodeType.NVS)) {
            line(nvs + others(nvs));
        }
        host.evenMesh().ifPresent(wire -> line("between any two NUMA nodes: " + wire.type() + " " + wire.label()));
        Origins.lines(report.description(), host).forEach(origin -> line("origin of " + origin));
    }

    private void writeTree(String node, String indent, String branch, String below) {
        String link = host.upward(node)
                .map(wire -> wire.type() + " " + wire.label() + " ")
                .orElse("");
        line(indent + branch + link + node + others(node));
        List<String> children = host.children(node);
        for (int i = 0; i < children.size(); i++) {
            boolean last = i == children.size() - 1;
            writeTree(children.get(i), indent + below, last ? "└─ " : "├─ ", last ? "   " : "│  ");
        }
    }

    /**
     * Returns the links of a node that are neither in the tree nor shown once for all pairs. Equal links are shown
     * together.
     */
    private String others(String node) {
        Map<String, List<String>> ends = new LinkedHashMap<>();
        for (Wire wire : host.wiresAt(node)) {
            String other = wire.opposite(node);
            boolean shown = host.upward(node).filter(wire::equals).isPresent()
                    || host.upward(other).filter(wire::equals).isPresent()
                    || wire.type() == LinkType.SYS && host.evenMesh().isPresent();
            if (!shown) {
                String label = wire.type() + " " + wire.label();
                ends.computeIfAbsent(label, key -> new ArrayList<>()).add(other);
            }
        }
        StringBuilder text = new StringBuilder();
        ends.forEach((label, names) ->
                text.append("   ").append(label).append(" to ").append(String.join(" ", names)));
        return text.toString();
    }

    private void writePaths() {
        List<String> ends = new ArrayList<>(host.ofType(NodeType.GPU));
        ends.addAll(host.ofType(NodeType.HOST));
        if (ends.isEmpty()) {
            return;
        }
        heading("PATHS (type and GB/s)");
        Map<String, Map<String, TopologyReport.PathRow>> paths = new HashMap<>();
        report.paths().forEach(path -> paths.computeIfAbsent(path.from(), from -> new HashMap<>())
                .put(path.to(), path));
        writePathTable(paths, ends, ends);
        Summary.apart(report).forEach(this::line);
        writePathTable(paths, ends, host.ofType(NodeType.NET));
        writePathTable(paths, ends, host.ofType(NodeType.CPU));
    }

    private void writePathTable(
            Map<String, Map<String, TopologyReport.PathRow>> paths, List<String> rows, List<String> columns) {
        if (columns.isEmpty()) {
            return;
        }
        if (rows.size() > MAX_COLUMNS || columns.size() > MAX_COLUMNS) {
            countPaths(paths, rows, columns);
            return;
        }
        List<String> headings = new ArrayList<>(List.of(""));
        headings.addAll(columns);
        TextTable table = new TextTable(headings.toArray(String[]::new));
        for (String row : rows) {
            List<String> cells = new ArrayList<>(List.of(row));
            columns.forEach(column -> cells.add(row.equals(column) ? "-" : describe(paths, row, column)));
            table.row(cells.toArray(String[]::new));
        }
        out.append(table);
    }

    private void countPaths(
            Map<String, Map<String, TopologyReport.PathRow>> paths, List<String> rows, List<String> columns) {
        Map<String, Integer> counts = new LinkedHashMap<>();
        for (String row : rows) {
            for (String column : columns) {
                if (!row.equals(column)) {
                    counts.merge(describe(paths, row, column), 1, Integer::sum);
                }
            }
        }
        String from = prefix(rows.get(0));
        String to = prefix(columns.get(0));
        counts.entrySet().stream()
                .sorted(Map.Entry.comparingByValue(Comparator.reverseOrder()))
                .forEach(entry -> line(
                        from + " to " + to + "  " + entry.getKey() + "  " + Numbers.count(entry.getValue(), "pair")));
    }

    private static String prefix(String name) {
        return name.substring(0, name.indexOf('/'));
    }

    private static String describe(Map<String, Map<String, TopologyReport.PathRow>> paths, String from, String to) {
        TopologyReport.PathRow path = paths.getOrDefault(from, Map.of()).get(to);
        if (path == null) {
            return "";
        }
        return path.via().isEmpty() ? path.type().name() : path.type() + " " + Numbers.bandwidth(path.bw());
    }

    private void writeChannels() {
        if (report.graphs().isEmpty()) {
            return;
        }
        heading("CHANNELS");
        List<String> totals = Summary.channels(report);
        int graph = 0;
        for (Map.Entry<String, List<ChannelGroup>> groups :
                Summary.channelGroups(report).entrySet()) {
            TopologyReport.GraphRow row = report.graphs().get(groups.getKey());
            line(totals.get(graph) + "  (found in " + Numbers.shortest(row.searchMillis(), 1) + " ms)");
            groups.getValue()
                    .forEach(group ->
                            line("  " + Summary.describe(group, row.graph().bwIntra())));
            graph++;
        }
    }

    private void writePlan(boolean several) {
        (several ? report.plan().map(Summary::plan) : Summary.plan(report)).ifPresent(this::heading);
        report.plan().filter(plan -> plan.hosts().size() > 1).ifPresent(plan -> {
            for (HostTree tree : HostTree.of(plan)) {
                String drawn = plan.hosts().size() <= MAX_HOSTS_DRAWN ? ": " + nested(tree, tree.root()) : "";
                line("  " + Summary.tree(tree) + drawn);
            }
        });
    }

    /** Returns a host, followed by the hosts below it in parentheses. */
    private static String nested(HostTree tree, int host) {
        List<String> below = tree.below().get(host).stream()
                .map(child -> nested(tree, child))
                .toList();
        return below.isEmpty() ? "" + host : host + " (" + String.join(" ", below) + ")";
    }

    private void writeTuning() {
        writeTuning("CHOICES", report.tuning());
        writeTuning("CHOICES OF RANKS THAT ARE THREADS OF ONE PROCESS", report.tuningOfThreads());
    }

    private void writeTuning(String title, List<TopologyReport.TuningRow> rows) {
        if (rows.isEmpty()) {
            return;
        }
        heading(title);
        List<String> headings =
                new ArrayList<>(List.of("COLLECTIVE", "SIZES", "ALGORITHM", "PROTOCOL", "CHANNELS", "PREDICTED us"));
        boolean bounded = rows.get(0).boundMicros().isPresent();
        if (bounded) {
            headings.add("LINKS us");
        }
        TextTable table = new TextTable(headings.toArray(String[]::new));
        for (int begin = 0; begin < rows.size(); ) {
            TopologyReport.TuningRow first = rows.get(begin);
            int end = begin;
            while (end + 1 < rows.size() && shownAlike(rows.get(end + 1), first)) {
                end++;
            }
            TopologyReport.TuningRow last = rows.get(end);
            List<String> cells = new ArrayList<>(List.of(
                    first.collective().label(),
                    span(ByteSizes.format(first.bytes()), ByteSizes.format(last.bytes())),
                    algorithm(first),
                    first.choice().protocol().label(),
                    Integer.toString(first.choice().channels()),
                    span(Numbers.shortest(first.timeMicros(), 2), Numbers.shortest(last.timeMicros(), 2))));
            if (bounded) {
                cells.add(span(
                        Numbers.shortest(first.boundMicros().getAsDouble(), 2),
                        Numbers.shortest(last.boundMicros().getAsDouble(), 2)));
            }
            table.row(cells.toArray(String[]::new));
            begin = end + 1;
        }
        out.append(table);
    }

    private static String algorithm(TopologyReport.TuningRow row) {
        String symmetric = row.choice().tryCopies()
                ? "; copies of symmetric memory"
                : row.readsSymmetric() ? "; reads of symmetric memory" : "";
        return row.choice().algorithm().label() + (row.isInPlace() ? ", in place" : "") + symmetric;
    }

    private static boolean shownAlike(TopologyReport.TuningRow one, TopologyReport.TuningRow other) {
        return one.collective() == other.collective()
                && algorithm(one).equals(algorithm(other))
                && one.choice().protocol() == other.choice().protocol()
                && one.choice().channels() == other.choice().channels();
    }

    private static String span(String first, String last) {
        return first.equals(last) ? first : first + " to " + last;
    }
}
