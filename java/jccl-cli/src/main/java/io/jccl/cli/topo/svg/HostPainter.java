package io.jccl.cli.topo.svg;

import io.jccl.cli.output.Svg;
import io.jccl.cli.topo.HostView;
import io.jccl.cli.topo.Wire;
import java.util.ArrayList;
import java.util.List;

/** Draws the boxes and links of a layout. */
final class HostPainter {

    /**
     * Largest distance of a label from the middle of its track, in percent of the track; {@link #STEP} is the distance
     * between two positions that are tried.
     */
    private static final int FARTHEST = 46;

    private static final int STEP = 2;

    private final Layout layout;
    private final Wiring wiring;
    private final HostView host;

    HostPainter(Layout layout) {
        this.layout = layout;
        this.wiring = layout.wiring();
        this.host = wiring.host();
    }

    /** Draws the frames around NUMA nodes, and the links that pass over no box of another node. */
    void links(Svg svg) {
        layout.frames().forEach((root, box) -> rectangle(svg, box, 10, "frame frame-edge"));
        wiring.strips().forEach(strip -> {
            if (strip.kind() == Strip.Kind.BUS) {
                Box bus = layout.box(strip.id());
                rectangle(svg, bus, 6, "frame " + Theme.link(strip.wire().type()));
                busLabel(bus, strip.wire()).draw(svg);
            }
        });
        for (Leg leg : wiring.legs()) {
            if (!isPartOfTrack(leg) && !passesOverBox(leg)) {
                drawLeg(svg, leg, false);
            }
        }
        wiring.strips().stream().filter(this::isTrack).forEach(strip -> drawTrack(svg, strip));
    }

    /** Draws the boxes of all nodes. */
    void boxes(Svg svg) {
        for (String name : host.names()) {
            svg.open("g", "data-node", name);
            svg.leaf("title", layout.labels().tooltip(name));
            drawBox(svg, name);
            svg.close("g");
        }
    }

    /** Draws the links that pass over boxes of other nodes. */
    void bridges(Svg svg) {
        for (Leg leg : wiring.legs()) {
            if (!isPartOfTrack(leg) && passesOverBox(leg)) {
                drawLeg(svg, leg, true);
            }
        }
    }

    /** Draws the bandwidths of all links. */
    void labels(Svg svg) {
        for (Label label : labels()) {
            if (label.middle()) {
                rectangle(svg, label.box(), 3, "page");
            }
            label.draw(svg);
        }
    }

    List<Label> labels() {
        List<Label> labels = new ArrayList<>();
        for (Leg leg : wiring.legs()) {
            if (leg.labelled()) {
                Box line = layout.line(leg);
                labels.add(bandwidth(leg.wire(), line.right() + 2, line.bottom() - 8, false));
            }
        }
        for (Strip strip : wiring.strips()) {
            if (isTrack(strip)) {
                labels.add(trackLabel(strip));
            }
        }
        return labels;
    }

    /** Returns the label of a track, in the middle or as near to it as possible without covering a link. */
    private Label trackLabel(Strip strip) {
        Box box = layout.box(strip.id());
        List<Box> crossing = wiring.legs().stream().map(layout::line).toList();
        for (int off = 0; off <= FARTHEST; off += STEP) {
            for (int side : new int[] {-off, off}) {
                double x = box.middleX() + box.width() * side / 100;
                Label label = bandwidth(strip.wire(), x, box.middleY() + 4, true);
                if (crossing.stream().noneMatch(label.box()::overlaps)) {
                    return label;
                }
            }
        }
        return bandwidth(strip.wire(), box.middleX(), box.middleY() + 4, true);
    }

    private static Label bandwidth(Wire wire, double x, double y, boolean middle) {
        String text = wire.label();
        return new Label(TextStyle.BANDWIDTH, text, x, y, middle, TextStyle.BANDWIDTH.width(text) + 2);
    }

    private static Label busLabel(Box bus, Wire wire) {
        double space = bus.width() - 16;
        String text = TextStyle.SMALL.cut("between any two NUMA nodes: " + wire.label() + " GB/s", space);
        return new Label(TextStyle.SMALL, text, bus.x() + 8, bus.y() + 14, false, space);
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
                "wire " + Theme.link(wire.type()),
                "d",
                path,
                "stroke-width",
                width,
                "data-link",
                wire.one() + " " + wire.other());
    }

    /** Draws the texts in the boxes. They are drawn after the routes, so that they can be read where routes pass. */
    void names(Svg svg) {
        host.names().forEach(name -> writeName(svg, name));
    }

    private void drawBox(Svg svg, String name) {
        rectangle(svg, layout.box(name), 5, Theme.box(host.type(name)));
    }

    /**
     * Draws the texts of a node over a plate in the colour of its box, so that they can be read over links and routes.
     */
    private void writeName(Svg svg, String name) {
        List<Label> texts = texts(name);
        Box plate = texts.stream().map(Label::likelyBox).reduce(Box::union).orElseThrow();
        rectangle(svg, plate, 3, Theme.fill(host.type(name)));
        texts.forEach(text -> text.draw(svg));
    }

    /** Returns the areas that the texts of all boxes cover. */
    List<Box> textBoxes() {
        return host.names().stream()
                .flatMap(name -> texts(name).stream())
                .map(Label::box)
                .toList();
    }

    /** Returns the lines of text in the box of a node. */
    List<Label> texts(String name) {
        Box box = layout.box(name);
        Labels labels = layout.labels();
        double y = layout.textY(name);
        if (labels.isBar(name)) {
            double x = barTextX(name, box);
            return List.of(new Label(TextStyle.NAME, labels.name(name), x, y, false, box.right() - 4 - x));
        }
        double space = box.width() - 4;
        List<Label> texts = new ArrayList<>();
        texts.add(new Label(TextStyle.NAME, labels.name(name), box.middleX(), y, true, space));
        for (String line : labels.details(name)) {
            y += 13;
            texts.add(new Label(TextStyle.SMALL, line, box.middleX(), y, true, space));
        }
        return texts;
    }

    /** Returns the leftmost place for a bar's name that no link passes over, or the left end if there is none. */
    private double barTextX(String name, Box box) {
        List<Box> bridges = wiring.legs().stream()
                .filter(leg -> !leg.upper().equals(name) && !leg.lower().equals(name) && !isPartOfTrack(leg))
                .map(layout::line)
                .filter(box::overlaps)
                .toList();
        List<Double> candidates = new ArrayList<>(List.of(box.x() + 6));
        bridges.forEach(bridge -> candidates.add(bridge.right() + 6));
        double width = TextStyle.NAME.width(layout.labels().name(name));
        return candidates.stream()
                .filter(x -> x + width <= box.right())
                .filter(x ->
                        bridges.stream().noneMatch(bridge -> new Box(x, box.y(), width, box.height()).overlaps(bridge)))
                .findFirst()
                .orElse(box.x() + 6);
    }

    static void rectangle(Svg svg, Box box, double radius, String styles) {
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
                "class",
                styles);
    }
}
