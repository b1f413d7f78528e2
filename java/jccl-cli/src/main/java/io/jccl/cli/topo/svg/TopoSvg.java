package io.jccl.cli.topo.svg;

import io.jccl.cli.topo.ChannelGroup;
import io.jccl.cli.topo.HostTree;
import io.jccl.cli.topo.HostView;
import io.jccl.cli.topo.Numbers;
import io.jccl.cli.topo.Summary;
import io.jccl.cli.topo.TopologyReport;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Draws a report as one picture: the host with the bandwidth of its links, the same host with the routes of ring and
 * tree channels over it, and the trees over all hosts. Equal reports give equal pictures.
 */
public final class TopoSvg {

    private static final double MARGIN = 24;
    private static final double LINE = 20;
    private static final double LETTER_SIZE = 11.5;
    private static final double NARROWEST = 760;
    /** A reader cannot distinguish more different routes than this in a picture. */
    private static final int MAX_GROUPS = 16;

    private final TopologyReport report;
    private final HostView host;
    private final Map<String, List<ChannelGroup>> groups;
    private final Layout layout;
    private final List<TreePainter> trees = new ArrayList<>();
    private final List<HostTree> hostTrees;
    private final Svg body = new Svg();
    private final double width;
    private double y = MARGIN;

    private TopoSvg(TopologyReport report) {
        this.report = report;
        this.host = HostView.of(report);
        this.groups = Summary.channelGroups(report);
        this.layout = layout(report, host, groups);
        this.hostTrees = report.plan()
                .filter(made -> made.hosts().size() > 1)
                .map(HostTree::of)
                .orElse(List.of());
        hostTrees.forEach(tree -> trees.add(new TreePainter(tree)));
        double widest = Math.max(NARROWEST, layout.width());
        for (TreePainter tree : trees) {
            widest = Math.max(widest, tree.width());
        }
        this.width = widest + 2 * MARGIN;
    }

    /** The picture of a report, as an SVG document. */
    public static String write(TopologyReport report) {
        return new TopoSvg(report).write();
    }

    /** Where the host of a report and its routes lie. */
    static Layout layout(TopologyReport report, HostView host, Map<String, List<ChannelGroup>> groups) {
        Wiring wiring = new Wiring(host);
        Traces traces = new Traces(wiring, report);
        int max = groups.values().stream().mapToInt(TopoSvg::drawn).max().orElse(0);
        return new Layout(
                wiring,
                new Labels(host),
                groups.values().stream()
                        .map(list -> traces.of(list.subList(0, drawn(list))))
                        .toList(),
                max <= 3 ? 9 : max <= 6 ? 7 : 5.5);
    }

    private static int drawn(List<ChannelGroup> list) {
        return Math.min(MAX_GROUPS, list.size());
    }

    private String write() {
        header();
        hostPanel();
        hostBelowRoutes();
        int set = 0;
        for (Map.Entry<String, List<ChannelGroup>> graph : groups.entrySet()) {
            routePanel(graph.getKey(), graph.getValue(), layout.routes().get(set));
            set++;
        }
        treePanel();
        double height = y + MARGIN - LINE;
        Svg svg = new Svg();
        svg.open(
                "svg",
                "xmlns",
                "http://www.w3.org/2000/svg",
                "width",
                width,
                "height",
                height,
                "viewBox",
                "0 0 " + Svg.number(width) + " " + Svg.number(height));
        svg.leaf("title", "Topology of " + report.source());
        svg.leaf("style", Theme.STYLE);
        svg.empty("rect", "width", width, "height", height, "fill", "#ffffff");
        return svg + body.toString() + "</svg>";
    }

    private void header() {
        y += 18;
        body.text(MARGIN, y, "title", report.source());
        y += 4;
        line("figures", Summary.host(host));
        Summary.sharedGpus(report).ifPresent(text -> line("figures", text));
        Summary.channels(report).forEach(text -> line("figures", text));
        Summary.plan(report).ifPresent(text -> line("figures", text));
        report.notes().forEach(note -> line("figures", "Note: " + note));
        y += LINE;
    }

    /** Text in as many lines as it needs; words stay whole. */
    private void line(String styles, String text) {
        wrapped(styles, text, 0);
    }

    private void wrapped(String styles, String text, double indent) {
        StringBuilder line = new StringBuilder();
        for (String word : text.split(" ")) {
            double needed = Theme.width(line + " " + word, LETTER_SIZE);
            if (!line.isEmpty() && needed > width - 2 * MARGIN - indent) {
                y += LINE;
                body.text(MARGIN + indent, y, styles, line.toString());
                line.setLength(0);
            }
            line.append(line.isEmpty() ? "" : " ").append(word);
        }
        y += LINE;
        body.text(MARGIN + indent, y, styles, line.toString());
    }

    private void heading(String title, String about) {
        y += LINE;
        body.text(MARGIN, y, "heading", title);
        line("about", about);
        y += 8;
    }

    private void hostPanel() {
        heading("The host", "The number beside a link is its bandwidth in GB/s each way; the thicker, the more.");
        new Legend(host, width - 2 * MARGIN).draw(body, MARGIN, y);
        y += new Legend(host, width - 2 * MARGIN).height() + 4;
        Layout bare = layout.withoutRoutes();
        HostPainter painter = new HostPainter(bare);
        beginPanel();
        painter.links(body);
        painter.boxes(body);
        painter.bridges(body);
        painter.names(body);
        painter.labels(body);
        endPanel(bare);
    }

    /** The host in layers between which routes are drawn. */
    private void hostBelowRoutes() {
        HostPainter painter = new HostPainter(layout);
        Map<String, Consumer<Svg>> layers = new LinkedHashMap<>();
        layers.put("links", painter::links);
        layers.put("boxes", painter::boxes);
        layers.put("bridges", painter::bridges);
        layers.put("names", painter::names);
        body.open("defs");
        layers.forEach((id, layer) -> {
            body.open("g", "id", id);
            layer.accept(body);
            body.close("g");
        });
        body.close("defs");
    }

    private void beginPanel() {
        body.open("g", "transform", "translate(" + Svg.number(MARGIN) + " " + Svg.number(y) + ")");
    }

    private void endPanel(Layout layout) {
        body.close("g");
        y += layout.height() + LINE;
    }

    private void routePanel(String name, List<ChannelGroup> list, Lanes lanes) {
        boolean ring = name.equals("ring");
        heading(Summary.capital(name) + " channels", about(ring, list.stream().anyMatch(group -> !group.netPorts()
                .isEmpty())));
        double each = report.graphs().get(name).graph().bwIntra();
        for (int number = 0; number < drawn(list); number++) {
            groupRow(number, list.get(number), each);
        }
        if (list.size() > MAX_GROUPS) {
            int left = list.stream()
                    .skip(MAX_GROUPS)
                    .mapToInt(ChannelGroup::channels)
                    .sum();
            line("about", "and " + Numbers.count(left, "channel") + " more on other routes: --format json names them");
        }
        if (lanes.traces().isEmpty()) {
            line("about", "One rank alone: nothing travels.");
            return;
        }
        y += 10;
        beginPanel();
        body.empty("use", "href", "#links", "opacity", "0.3");
        body.empty("use", "href", "#boxes");
        body.empty("use", "href", "#bridges", "opacity", "0.3");
        new RoutePainter(layout, lanes, list.subList(0, drawn(list))).routes(body);
        body.empty("use", "href", "#names");
        endPanel(layout);
    }

    private static String about(boolean ring, boolean networks) {
        if (!ring) {
            return "Each coloured line is a chain of all ranks: sums flow towards its first rank, results back"
                    + (networks ? ", and from host to host by network ports." : ".");
        }
        return networks
                ? "Each coloured line comes in by a network port, passes every rank once and leaves for the next host."
                : "Each coloured line passes every rank once and returns to the first.";
    }

    private void groupRow(int number, ChannelGroup group, double each) {
        body.empty(
                "rect",
                "x",
                MARGIN,
                "y",
                y + LINE - 9,
                "width",
                26.0,
                "height",
                8.0,
                "rx",
                4,
                "fill",
                Theme.route(number));
        wrapped("route", Summary.describe(group, each), 34);
    }

    private void treePanel() {
        if (hostTrees.isEmpty()) {
            return;
        }
        int count = report.plan().orElseThrow().hosts().size();
        heading(
                "The trees over " + count + " hosts",
                "Each chip is a whole host. Sums flow up from host to host, results down; inside each, along the "
                        + "tree channels above.");
        y += 4;
        double x = 0;
        double tallest = 0;
        for (int number = 0; number < trees.size(); number++) {
            TreePainter painter = trees.get(number);
            String caption = Summary.tree(hostTrees.get(number));
            double needed = Math.max(painter.width(), Theme.width(caption, 12)) + MARGIN;
            if (x > 0 && x + needed > width - 2 * MARGIN) {
                y += tallest + LINE;
                x = 0;
                tallest = 0;
            }
            body.open("g", "transform", "translate(" + Svg.number(MARGIN + x) + " " + Svg.number(y + 30) + ")");
            body.text(0, -12, "route", caption);
            painter.draw(body);
            body.close("g");
            x += needed;
            tallest = Math.max(tallest, painter.height() + 30);
        }
        y += tallest + LINE;
    }
}
