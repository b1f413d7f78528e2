package io.jccl.cli.topo.svg;

import io.jccl.cli.output.Svg;
import io.jccl.cli.topo.ChannelGroup;
import io.jccl.cli.topo.HostTree;
import io.jccl.cli.topo.HostView;
import io.jccl.cli.topo.Numbers;
import io.jccl.cli.topo.Summary;
import io.jccl.cli.topo.TopologyReport;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Draws a report as one picture: the host with the bandwidth of its links, the same host with the routes of ring and
 * tree channels over it, and the trees over all hosts. Equal reports give equal pictures.
 */
public final class TopoSvg {

    private static final double MARGIN = 24;
    private static final double LINE = 20;
    private static final double NARROWEST = 760;
    private static final double SWATCH = 34;
    private static final double CAPTION = 18;
    /** Pattern of the folders before the name of a file. */
    private static final String FOLDER = "[^/=]*/";
    /** Limit on the routes in a picture, because readers cannot distinguish more. */
    private static final int MAX_GROUPS = 16;

    private final TopologyReport report;
    private final Optional<String> hostName;
    private final HostView host;
    private final Map<String, List<ChannelGroup>> groups;
    private final Layout layout;
    private final List<TreePainter> trees = new ArrayList<>();
    private final List<HostTree> hostTrees;
    private final Svg body = new Svg();
    private final double width;
    private double y = MARGIN;

    private TopoSvg(TopologyReport report, Optional<String> hostName) {
        this.report = report;
        this.hostName = hostName;
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

    /**
     * Returns the picture of a report as an SVG document.
     *
     * @param hostName name of the host, if it is known
     */
    public static String write(TopologyReport report, Optional<String> hostName) {
        return new TopoSvg(report, hostName).write();
    }

    /** Returns the layout of the host of a report and of its routes. */
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
                max <= 3 ? 10 : max <= 6 ? 8 : 7);
    }

    private static int drawn(List<ChannelGroup> list) {
        return Math.min(MAX_GROUPS, list.size());
    }

    private String write() {
        header();
        hostPanel();
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
        svg.leaf("title", title());
        svg.leaf("style", Theme.style());
        svg.empty("rect", "width", width, "height", height, "class", "page");
        return svg + body.toString() + "</svg>";
    }

    private String title() {
        return Summary.title(host) + hostName.map(name -> " – host " + name).orElse("");
    }

    private void header() {
        y -= 10;
        paragraph(TextStyle.TITLE, title(), 0, 28);
        y += 4;
        line(TextStyle.FIGURES, "Source: " + report.source().replaceAll(FOLDER, ""));
        line(TextStyle.FIGURES, Summary.host(host));
        Summary.sharedGpus(report).ifPresent(text -> line(TextStyle.FIGURES, text));
        Summary.channels(report).forEach(text -> line(TextStyle.FIGURES, text));
        Summary.plan(report).ifPresent(text -> line(TextStyle.FIGURES, text));
        report.notes().forEach(note -> line(TextStyle.FIGURES, "Note: " + note));
        y += LINE;
    }

    /** Writes text in as many lines as it needs; words stay whole. */
    private void line(TextStyle style, String text) {
        paragraph(style, text, 0, LINE);
    }

    private void paragraph(TextStyle style, String text, double indent, double step) {
        double space = width - 2 * MARGIN - indent;
        for (String row : style.wrap(text, space)) {
            y += step;
            new Label(style, row, MARGIN + indent, y, false, space).draw(body);
        }
    }

    private void heading(String title, String about) {
        y += LINE;
        new Label(TextStyle.HEADING, title, MARGIN, y, false, width - 2 * MARGIN).draw(body);
        line(TextStyle.ABOUT, about);
        y += 8;
    }

    private void hostPanel() {
        heading("The host", "The number next to a link is its bandwidth in GB/s each way; thicker links have more.");
        Legend legend = new Legend(host, width - 2 * MARGIN);
        legend.draw(body, MARGIN, y);
        y += legend.height() + 4;
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
        List<ChannelGroup> shown = list.subList(0, drawn(list));
        groupRows(shown, report.graphs().get(name).graph().bwIntra());
        if (list.size() > MAX_GROUPS) {
            int left = list.stream()
                    .skip(MAX_GROUPS)
                    .mapToInt(ChannelGroup::channels)
                    .sum();
            String others = Numbers.count(left, "channel");
            line(TextStyle.ABOUT, "and " + others + " more on other routes: --format json names them");
        }
        if (lanes.traces().isEmpty()) {
            line(TextStyle.ABOUT, "One rank alone: nothing travels.");
            y += LINE;
            return;
        }
        y += 10;
        beginPanel();
        Layout own = layout.with(lanes);
        HostPainter painter = new HostPainter(own);
        RoutePainter routes = new RoutePainter(own, lanes, shown);
        faint(painter::links);
        painter.boxes(body);
        faint(painter::bridges);
        routes.routes(body);
        painter.names(body);
        routes.marks(body, painter.textBoxes());
        endPanel(own);
    }

    private void faint(Consumer<Svg> layer) {
        body.open("g", "opacity", "0.3");
        layer.accept(body);
        body.close("g");
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

    private void groupRows(List<ChannelGroup> shown, double each) {
        double marks = shown.stream()
                .mapToDouble(group -> TextStyle.CHANNEL.width(Marks.text(group)) + 6)
                .max()
                .orElse(0);
        for (int number = 0; number < shown.size(); number++) {
            groupRow(number, shown.get(number), each, marks);
        }
    }

    /**
     * Writes the row of a group in the legend: a sample of its line, its numbers in a border as wide as {@code marks},
     * and its description.
     */
    private void groupRow(int number, ChannelGroup group, double each, double marks) {
        double middle = y + LINE - 4;
        String line = "M" + Svg.number(MARGIN) + " " + Svg.number(middle) + "H" + Svg.number(MARGIN + SWATCH);
        body.open("g", "class", Theme.route(number) + " " + Theme.dashes(number));
        body.empty("path", "class", "lane", "d", line, "stroke-width", 5.0);
        body.close("g");
        Box box = new Box(MARGIN + SWATCH + 6, middle - Marks.HEIGHT / 2, marks, Marks.HEIGHT);
        RoutePainter.mark(body, new Marks.Mark(number, box, Marks.label(group, box)));
        paragraph(TextStyle.ENTRY, Summary.describe(group, each), SWATCH + marks + 14, LINE);
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
            double space = Math.max(painter.width(), NARROWEST / 2 - MARGIN);
            List<String> caption = TextStyle.ENTRY.wrap(Summary.tree(hostTrees.get(number)), space);
            double needed = space + MARGIN;
            double top = 12 + CAPTION * caption.size();
            if (x > 0 && x + needed > width - 2 * MARGIN) {
                y += tallest + LINE;
                x = 0;
                tallest = 0;
            }
            body.open("g", "transform", "translate(" + Svg.number(MARGIN + x) + " " + Svg.number(y + top) + ")");
            for (int row = 0; row < caption.size(); row++) {
                double baseline = -12 - CAPTION * (caption.size() - 1 - row);
                new Label(TextStyle.ENTRY, caption.get(row), 0, baseline, false, needed).draw(body);
            }
            painter.draw(body);
            body.close("g");
            x += needed;
            tallest = Math.max(tallest, painter.height() + top);
        }
        y += tallest + LINE;
    }
}
