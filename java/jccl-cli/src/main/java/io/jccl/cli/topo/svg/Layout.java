package io.jccl.cli.topo.svg;

import io.jccl.cli.topo.HostView;
import io.jccl.topology.NodeType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The positions of everything in the picture of one host. Horizontal positions are the same for every set of routes
 * that is drawn over the host; boxes have space for the lanes of routes. From top to bottom, the picture contains links
 * between NUMA nodes, the NUMA nodes, the levels of PCI switches, endpoints and cards, network ports, and the NVLinks.
 */
final class Layout {

    private static final double PADDING = 12;
    private static final double LEG_GAP = 30;
    private static final double SHORT_GAP = 16;
    private static final double BUS_LABEL = 20;

    private final Wiring wiring;
    private final Labels labels;
    private final Columns columns;
    private final List<Lanes> routes = new ArrayList<>();
    private final double pitch;
    private final Map<String, Box> boxes = new LinkedHashMap<>();
    private final Map<String, Box> frames = new LinkedHashMap<>();
    private double height;

    /**
     * Lays out the host.
     *
     * @param traces the sets of routes that will be drawn
     * @param pitch the distance between two routes
     */
    Layout(Wiring wiring, Labels labels, List<List<Trace>> traces, double pitch) {
        this.wiring = wiring;
        this.labels = labels;
        this.pitch = pitch;
        int[] maxLanes = new int[wiring.legs().size()];
        for (List<Trace> set : traces) {
            int[] count = Lanes.perLeg(set, maxLanes.length);
            for (int leg = 0; leg < maxLanes.length; leg++) {
                maxLanes[leg] = Math.max(maxLanes[leg], count[leg]);
            }
        }
        columns = new Columns(wiring, labels, maxLanes, pitch);
        traces.forEach(set -> routes.add(new Lanes(set, wiring, columns, pitch)));
        placeRows();
    }

    private Layout(Layout other, List<Lanes> routes) {
        wiring = other.wiring;
        labels = other.labels;
        pitch = other.pitch;
        columns = other.columns;
        this.routes.addAll(routes);
        placeRows();
    }

    /** Returns a layout of the same host without space for routes, so that it is only as high as necessary. */
    Layout withoutRoutes() {
        return new Layout(this, List.of());
    }

    /** Returns a layout of the same host with the space that one of its sets of routes needs. */
    Layout with(Lanes set) {
        return new Layout(this, List.of(set));
    }

    private void placeRows() {
        HostView host = wiring.host();
        int leafLevel = 1;
        Map<Integer, List<String>> bars = new HashMap<>();
        List<String> leaves = new ArrayList<>();
        List<String> ports = new ArrayList<>();
        for (String name : host.names()) {
            if (labels.isLeaf(name)) {
                leaves.add(name);
            } else if (!labels.isBar(name)) {
                ports.add(name);
            } else if (host.type(name) != NodeType.NVS) {
                int level = host.depth(name);
                bars.computeIfAbsent(level, key -> new ArrayList<>()).add(name);
                leafLevel = Math.max(leafLevel, level + 1);
            }
        }
        double y = tracksAbove(0, PADDING);
        double frameTop = y;
        y += PADDING;
        for (int level = 0; level < leafLevel; level++) {
            y = level == 0 ? y : tracksAbove(level, y) + LEG_GAP;
            y = row(bars.getOrDefault(level, List.of()), y);
        }
        y = tracksAbove(leafLevel, y) + LEG_GAP;
        y = leaves(leaves, ports, y) + PADDING;
        frame(frameTop, y);
        y = tracksBelow(y);
        for (String nvs : host.ofType(NodeType.NVS)) {
            y = row(List.of(nvs), y + LEG_GAP + 6);
        }
        height = y + PADDING;
    }

    private double row(List<String> nodes, double y) {
        double tallest = 0;
        for (String node : nodes) {
            tallest = Math.max(tallest, nodeHeight(node));
        }
        for (String node : nodes) {
            put(node, y, isEmptyBar(node) ? nodeHeight(node) : tallest);
        }
        return y + tallest;
    }

    private boolean isEmptyBar(String node) {
        HostView host = wiring.host();
        return labels.isBar(node)
                && host.type(node) != NodeType.NVS
                && host.children(node).isEmpty();
    }

    /**
     * Places the boxes of endpoints, cards and ports; returns their lower edge. Endpoints are as high as a card with
     * its ports.
     */
    private double leaves(List<String> leaves, List<String> ports, double y) {
        double cards = 0;
        double others = 0;
        for (String leaf : leaves) {
            if (wiring.host().type(leaf) == NodeType.NIC) {
                cards = Math.max(cards, nodeHeight(leaf));
            } else {
                others = Math.max(others, nodeHeight(leaf));
            }
        }
        double below = ports.isEmpty() ? y : row(ports, y + cards + LEG_GAP - 4);
        double bottom = Math.max(Math.max(below, y + cards), y + others);
        for (String leaf : leaves) {
            put(leaf, y, wiring.host().type(leaf) == NodeType.NIC ? cards : bottom - y);
        }
        return bottom;
    }

    private void put(String node, double y, double height) {
        boxes.put(node, new Box(columns.left(node), y, columns.right(node) - columns.left(node), height));
    }

    private double nodeHeight(String node) {
        return labels.height(node) + laneHeight(node);
    }

    private double laneHeight(String strip) {
        int lanes = lanes(strip);
        return lanes == 0 ? 0 : lanes * pitch + 4;
    }

    private int lanes(String strip) {
        return routes.stream().mapToInt(set -> set.lanes(strip)).max().orElse(0);
    }

    private double tracksAbove(int level, double y) {
        double bottom = y;
        for (Strip strip : wiring.strips()) {
            if (strip.kind() == Strip.Kind.BUS && level == 0) {
                double[] span = columns.span(strip);
                double tall = BUS_LABEL + laneHeight(strip.id());
                boxes.put(strip.id(), new Box(span[0], bottom, span[1] - span[0], tall));
                bottom += tall;
            }
        }
        bottom = packTracks(
                wiring.strips().stream()
                        .filter(strip -> strip.kind() == Strip.Kind.ABOVE && strip.level() == level)
                        .toList(),
                bottom);
        return bottom == y ? y : bottom + SHORT_GAP;
    }

    private double tracksBelow(double y) {
        return packTracks(
                wiring.strips().stream()
                        .filter(strip -> strip.kind() == Strip.Kind.BELOW)
                        .toList(),
                y);
    }

    private double packTracks(List<Strip> tracks, double y) {
        List<Strip> shortFirst = new ArrayList<>(tracks);
        shortFirst.sort((one, other) -> Double.compare(length(one), length(other)));
        Packing packing = new Packing(24);
        List<List<Strip>> rows = new ArrayList<>();
        for (Strip strip : shortFirst) {
            double[] span = columns.span(strip);
            int row = packing.place(span[0], span[1]);
            while (rows.size() <= row) {
                rows.add(new ArrayList<>());
            }
            rows.get(row).add(strip);
        }
        double at = y;
        for (List<Strip> row : rows) {
            double tall = 16;
            for (Strip strip : row) {
                double line = Theme.stroke(strip.wire().bandwidthGBps());
                tall = Math.max(tall, Math.max(line, laneHeight(strip.id())) + 6);
            }
            for (Strip strip : row) {
                double[] span = columns.span(strip);
                boxes.put(strip.id(), new Box(span[0], at, span[1] - span[0], tall));
            }
            at += tall;
        }
        return at;
    }

    private double length(Strip strip) {
        double[] span = columns.span(strip);
        return span[1] - span[0];
    }

    /** Places the frames of NUMA nodes. The frame of a NUMA node without devices ends below its box. */
    private void frame(double top, double bottom) {
        for (String root : wiring.host().roots()) {
            double[] span = columns.frame(root);
            boolean empty = wiring.host().children(root).isEmpty();
            double end = empty ? boxes.get(root).bottom() + PADDING : bottom;
            frames.put(root, new Box(span[0], top, span[1] - span[0], end - top));
        }
    }

    /** Returns the box of a node, or the area of a horizontal segment of a link. */
    Box box(String strip) {
        return boxes.get(strip);
    }

    /** Returns the frames around the NUMA nodes, by the name of the NUMA node. */
    Map<String, Box> frames() {
        return frames;
    }

    double x(Leg leg) {
        return columns.x(leg);
    }

    /** Returns the area of a leg, as wide as its line. */
    Box line(Leg leg) {
        double top = end(leg.upper(), true);
        double bottom = end(leg.lower(), false);
        double width = Theme.stroke(leg.wire().bandwidthGBps());
        return new Box(columns.x(leg) - width / 2, top, width, bottom - top);
    }

    private double end(String strip, boolean lowerEdge) {
        Box box = boxes.get(strip);
        Strip.Kind kind = wiring.strip(strip).kind();
        if (kind == Strip.Kind.ABOVE || kind == Strip.Kind.BELOW) {
            return box.middleY();
        }
        return lowerEdge ? box.bottom() : box.y();
    }

    /**
     * Returns the y of a lane of a strip in one set of routes. Lane 0 is nearest to the boxes to which most of its
     * routes lead.
     */
    double laneY(Lanes set, String strip, int lane) {
        Box box = boxes.get(strip);
        Strip.Kind kind = wiring.strip(strip).kind();
        boolean fromTop = kind == Strip.Kind.BELOW || kind == Strip.Kind.NODE && isBelow(strip);
        double used =
                kind == Strip.Kind.NODE || kind == Strip.Kind.BUS ? 3 : (box.height() - set.lanes(strip) * pitch) / 2;
        double offset = used + (lane + 0.5) * pitch;
        return fromTop ? box.y() + offset : box.bottom() - offset;
    }

    private boolean isBelow(String node) {
        return wiring.host().type(node) == NodeType.NVS;
    }

    /**
     * Returns the baseline of the first line of text in a node's box. In a bar the text is close to an edge, because
     * routes run through bars. Routes end at the edges of other boxes.
     */
    double textY(String node) {
        Box box = boxes.get(node);
        return isBelow(node) ? box.bottom() - 6 : box.y() + (labels.isBar(node) ? 15 : 21);
    }

    /** Returns the sets of routes, in the order in which they were given. */
    List<Lanes> routes() {
        return routes;
    }

    Wiring wiring() {
        return wiring;
    }

    Labels labels() {
        return labels;
    }

    double pitch() {
        return pitch;
    }

    double width() {
        return columns.width();
    }

    double height() {
        return height;
    }
}
