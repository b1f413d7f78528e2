package io.jccl.cli.topo.svg;

import io.jccl.cli.output.Svg;
import io.jccl.cli.topo.HostView;
import io.jccl.cli.topo.Meanings;
import io.jccl.topology.LinkType;
import io.jccl.topology.NodeType;
import java.util.ArrayList;
import java.util.List;

/** Explains the boxes and lines of a host, limited to the kinds that it has. */
final class Legend {

    private static final double SWATCH = 34;
    private static final double ROW = 20;

    private final List<Entry> entries = new ArrayList<>();
    private double height = ROW;

    private record Entry(String text, NodeType node, LinkType link, double x, double y) {}

    /** Creates a legend that is at most {@code width} wide. */
    Legend(HostView host, double width) {
        double x = 0;
        List<Entry> found = new ArrayList<>();
        for (NodeType type : NodeType.values()) {
            if (!host.ofType(type).isEmpty()) {
                found.add(new Entry(Meanings.of(type), type, null, 0, 0));
            }
        }
        for (LinkType type : LinkType.values()) {
            if (host.wires().stream().anyMatch(wire -> wire.type() == type)) {
                found.add(new Entry(Meanings.of(type), null, type, 0, 0));
            }
        }
        for (Entry entry : found) {
            double needed = SWATCH + 6 + TextStyle.ENTRY.width(entry.text) + 12;
            if (x + needed > width && x > 0) {
                x = 0;
                height += ROW;
            }
            entries.add(new Entry(entry.text, entry.node, entry.link, x, height - ROW));
            x += needed;
        }
    }

    double height() {
        return height;
    }

    void draw(Svg svg, double left, double top) {
        for (Entry entry : entries) {
            double x = left + entry.x;
            double y = top + entry.y;
            if (entry.node != null) {
                svg.empty(
                        "rect",
                        "x",
                        x,
                        "y",
                        y + 3,
                        "width",
                        SWATCH,
                        "height",
                        13.0,
                        "rx",
                        3,
                        "class",
                        Theme.box(entry.node));
            } else {
                String line = "M" + Svg.number(x) + " " + Svg.number(y + 10) + "H" + Svg.number(x + SWATCH);
                svg.empty("path", "class", "wire " + Theme.link(entry.link), "d", line, "stroke-width", 6.0);
            }
            double space = TextStyle.ENTRY.width(entry.text) + 6;
            new Label(TextStyle.ENTRY, entry.text, x + SWATCH + 6, y + 14, false, space).draw(svg);
        }
    }
}
