package io.jccl.cli.topo.svg;

import io.jccl.cli.topo.HostView;
import io.jccl.cli.topo.Wire;
import io.jccl.topology.NodeType;
import java.util.ArrayList;
import java.util.List;

/** Draws the boxes and links of a layout. */
final class HostPainter {

    private static final double LABEL_SIZE = 11;

    /** How far a label may be from the middle of its track, in hundredths of the track, and in which steps that is tried. */
    private static final int FARTHEST = 46;

    private static final int STEP = 2;

    /** What letters most likely need of the width that is left for them. */
    private static final double LIKELY = 0.9;

    private final Layout layout;
    private final Wiring wiring;
    private final HostView host;

    /** The bandwidth beside a link. */
    record LinkLabel(String text, double x, double y, boolean middle) {
        Box box() {
            double width = Theme.width(text, LABEL_SIZE);
            return new Box(middle ? x - width / 2 : x, y - LABEL_SIZE + 2, width, LABEL_SIZE);
        }
    }

    HostPainter(Layout layout) {
        this.layout = layout;
        this.wiring = layout.wiring();
        this.host = wiring.host();
    }

    /** The frames round NUMA nodes and all links that end at the boxes they touch. */
    void links(Svg svg) {
        layout.frames().forEach((root, box) -> rectangle(svg, box, 10, "#fafbfc", "#c6ced6"));
        wiring.strips().forEach(strip -> {
            if (strip.kind() == Strip.Kind.BUS) {
                Box bus = layout.box(strip.id());
                rectangle(svg, bus, 6, "#fdf1e3", Theme.colour(strip.wire().type()));
                svg.text(
                        bus.x() + 8,
                        bus.y() + 14,
                        "small",
                        "between any two NUMA nodes: " + strip.wire().label() + " GB/s");
            }
        });
        for (Leg leg : wiring.legs()) {
            if (!isPartOfTrack(leg) && !passesOverBox(leg)) {
                drawLeg(svg, leg, false);
            }
        }
        wiring.strips().stream().filter(this::isTrack).forEach(strip -> drawTrack(svg, strip));
    }

    /** The boxes of all nodes. */
    void boxes(Svg svg) {
        for (String name : host.names()) {
            svg.open("g", "data-node", name);
            svg.leaf("title", layout.labels().tooltip(name));
            drawBox(svg, name);
            svg.close("g");
        }
    }

    /** The links that pass over boxes which they have nothing to do with. */
    void bridges(Svg svg) {
        for (Leg leg : wiring.legs()) {
            if (!isPartOfTrack(leg) && passesOverBox(leg)) {
                drawLeg(svg, leg, true);
            }
        }
    }

    /** The bandwidths of all links. */
    void labels(Svg svg) {
        for (LinkLabel label : labels()) {
            if (label.middle) {
                plate(svg, label.box(), "#ffffff");
            }
            svg.text(label.x, label.y, label.middle ? "bandwidth middle" : "bandwidth", label.text);
        }
    }

    List<LinkLabel> labels() {
        List<LinkLabel> labels = new ArrayList<>();
        for (Leg leg : wiring.legs()) {
            if (leg.labelled()) {
                Box line = layout.line(leg);
                labels.add(new LinkLabel(leg.wire().label(), line.right() + 2, line.bottom() - 8, false));
            }
        }
        for (Strip strip : wiring.strips()) {
            if (isTrack(strip)) {
                labels.add(trackLabel(strip));
            }
        }
        return labels;
    }

    /** In the middle of the track, or as near to it as no link crosses. */
    private LinkLabel trackLabel(Strip strip) {
        Box box = layout.box(strip.id());
        List<Box> crossing = wiring.legs().stream().map(layout::line).toList();
        for (int off = 0; off <= FARTHEST; off += STEP) {
            for (int side : new int[] {-off, off}) {
                double x = box.middleX() + box.width() * side / 100;
                LinkLabel label = new LinkLabel(strip.wire().label(), x, box.middleY() + 4, true);
                if (crossing.stream().noneMatch(label.box()::overlaps)) {
                    return label;
                }
            }
        }
        return new LinkLabel(strip.wire().label(), box.middleX(), box.middleY() + 4, true);
    }

    private boolean isTrack(Strip strip) {
        return strip.kind() == Strip.Kind.ABOVE || strip.kind() == Strip.Kind.BELOW;
    }

    private boolean isPartOfTrack(Leg leg) {
        return isTrack(wiring.strip(leg.upper())) || isTrack(wiring.strip(leg.lower()));
    }

    private boolean passesOverBox(Leg leg) {
        Box line = layout.line(leg);
        return host.names().stream()
                .filter(name -> !name.equals(leg.upper()) && !name.equals(leg.lower()))
                .anyMatch(name -> layout.box(name).overlaps(line));
    }

    private void drawLeg(Svg svg, Leg leg, boolean over) {
        Box line = layout.line(leg);
        String path = "M" + Svg.number(line.middleX()) + " " + Svg.number(line.y()) + "V" + Svg.number(line.bottom());
        drawWire(svg, leg.wire(), path, over);
    }

    private void drawTrack(Svg svg, Strip strip) {
        List<Leg> legs = wiring.at(strip.id());
        Box one = layout.line(legs.get(0));
        Box other = layout.line(legs.get(1));
        boolean below = strip.kind() == Strip.Kind.BELOW;
        String path = "M" + Svg.number(one.middleX()) + " " + Svg.number(below ? one.y() : one.bottom())
                + "V" + Svg.number(layout.box(strip.id()).middleY())
                + "H" + Svg.number(other.middleX())
                + "V" + Svg.number(below ? other.y() : other.bottom());
        drawWire(svg, strip.wire(), path, true);
    }

    private static void drawWire(Svg svg, Wire wire, String path, boolean casing) {
        double width = Theme.stroke(wire.bandwidthGBps());
        if (casing) {
            svg.empty("path", "class", "casing", "d", path, "stroke-width", width + 3);
        }
        svg.empty(
                "path",
                "class",
                "wire",
                "d",
                path,
                "stroke",
                Theme.colour(wire.type()),
                "stroke-width",
                width,
                "data-link",
                wire.one() + " " + wire.other());
    }

    /** What stands in the boxes: a group of its own, because it has to be read where routes pass. */
    void names(Svg svg) {
        host.names().forEach(name -> writeName(svg, name));
    }

    private void drawBox(Svg svg, String name) {
        NodeType type = host.type(name);
        rectangle(svg, layout.box(name), 5, Theme.fill(type), Theme.edge(type));
    }

    private void writeName(Svg svg, String name) {
        Box box = layout.box(name);
        double y = layout.textY(name);
        String text = layout.labels().name(name);
        String fill = Theme.fill(host.type(name));
        if (layout.labels().isBar(name)) {
            double x = barTextX(name, box);
            double middle = x + Theme.width(text, Labels.NAME_SIZE) * LIKELY / 2;
            plate(svg, textBox(middle, y, text, Labels.NAME_SIZE), fill);
            svg.text(x, y, "name", text);
            return;
        }
        Box plate = textBox(box.middleX(), y, text, Labels.NAME_SIZE);
        List<String> details = layout.labels().details(name);
        for (int line = 0; line < details.size(); line++) {
            plate = plate.union(textBox(box.middleX(), y + 13 * (line + 1), details.get(line), Labels.SMALL_SIZE));
        }
        plate(svg, plate, fill);
        svg.text(box.middleX(), y, "name middle", text);
        for (String line : details) {
            y += 13;
            svg.text(box.middleX(), y, "small middle", line);
        }
    }

    private static Box textBox(double middle, double baseline, String text, double size) {
        double width = Theme.width(text, size) * LIKELY;
        return new Box(middle - width / 2, baseline - size, width, size + 2);
    }

    /** What lies behind letters, so that they can be read over links and routes. */
    private static void plate(Svg svg, Box box, String fill) {
        rectangle(svg, box, 3, fill, "none");
    }

    /** The leftmost place for a bar's name that no link passes over; the left end if there is none. */
    private double barTextX(String name, Box box) {
        List<Box> bridges = wiring.legs().stream()
                .filter(leg -> !leg.upper().equals(name) && !leg.lower().equals(name) && !isPartOfTrack(leg))
                .map(layout::line)
                .filter(box::overlaps)
                .toList();
        List<Double> candidates = new ArrayList<>(List.of(box.x() + 6));
        bridges.forEach(bridge -> candidates.add(bridge.right() + 6));
        double width = Theme.width(layout.labels().name(name), Labels.NAME_SIZE);
        return candidates.stream()
                .filter(x -> x + width <= box.right())
                .filter(x ->
                        bridges.stream().noneMatch(bridge -> new Box(x, box.y(), width, box.height()).overlaps(bridge)))
                .findFirst()
                .orElse(box.x() + 6);
    }

    private static void rectangle(Svg svg, Box box, double radius, String fill, String edge) {
        svg.empty(
                "rect",
                "x",
                box.x(),
                "y",
                box.y(),
                "width",
                box.width(),
                "height",
                box.height(),
                "rx",
                radius,
                "fill",
                fill,
                "stroke",
                edge);
    }
}
