package io.jccl.cli.topo.svg;

import io.jccl.cli.topo.HostView;
import io.jccl.topology.NodeType;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Computes the horizontal positions of boxes and legs. Every box spans all boxes that hang below it. */
final class Columns {

    private static final double GAP = 10;
    private static final double FRAME_GAP = 16;
    private static final double FRAME_PADDING = 10;
    private static final double PORT_GAP = 4;

    private final Wiring wiring;
    private final HostView host;
    private final Labels labels;
    private final int[] lanes;
    private final double pitch;
    private final Map<String, Integer> places = new HashMap<>();
    private final Map<String, double[]> spans = new HashMap<>();
    private final Map<String, double[]> frames = new HashMap<>();
    private final double[] legX;
    private double width;

    /**
     * Lays out the columns.
     *
     * @param lanes by leg, the largest number of routes that run along it
     * @param pitch the distance between two routes
     */
    Columns(Wiring wiring, Labels labels, int[] lanes, double pitch) {
        this.wiring = wiring;
        this.host = wiring.host();
        this.labels = labels;
        this.lanes = lanes;
        this.pitch = pitch;
        this.legX = new double[wiring.legs().size()];
        host.roots().forEach(this::number);
        double left = 0;
        for (String root : host.roots()) {
            double inner = needed(root);
            frames.put(root, new double[] {left, left + inner + 2 * FRAME_PADDING});
            place(root, left + FRAME_PADDING, inner);
            left += inner + 2 * FRAME_PADDING + FRAME_GAP;
        }
        width = Math.max(0, left - FRAME_GAP);
        host.ofType(NodeType.NVS).forEach(this::placeBelow);
    }

    private void number(String node) {
        places.put(node, places.size());
        host.children(node).forEach(this::number);
    }

    private double needed(String node) {
        double children = -GAP;
        for (String child : host.children(node)) {
            children += needed(child) + GAP;
        }
        double own = Math.max(labels.width(node), labels.minWidth(node));
        double ports = Math.max(portsWidth(ports(node, true)), portsWidth(ports(node, false))) + 6;
        return Math.max(Math.max(own, ports), children);
    }

    private void place(String node, double left, double width) {
        spans.put(node, new double[] {left, left + width});
        placePorts(node, true);
        placePorts(node, false);
        List<String> children = host.children(node);
        double spare = width;
        for (String child : children) {
            spare -= needed(child);
        }
        double gap = children.size() > 1 ? Math.min(spare / (children.size() - 1), 3 * GAP) : 0;
        double at = left + (spare - gap * (children.size() - 1)) / 2;
        for (String child : children) {
            double share = needed(child);
            place(child, at, share);
            at += share + gap;
        }
    }

    /** Places a switch below all boxes; it spans the boxes that it connects. */
    private void placeBelow(String nvs) {
        double left = width;
        double right = 0;
        for (Leg leg : wiring.at(nvs)) {
            double[] span = spans.get(leg.opposite(nvs));
            if (span != null) {
                left = Math.min(left, span[0]);
                right = Math.max(right, span[1]);
            }
        }
        spans.put(nvs, left < right ? new double[] {left, right} : new double[] {0, width});
    }

    private void placePorts(String node, boolean top) {
        List<Leg> ports = ports(node, top);
        double[] span = spans.get(node);
        double x = (span[0] + span[1] - portsWidth(ports)) / 2;
        for (Leg leg : ports) {
            legX[leg.index()] = ports.size() == 1 ? (span[0] + span[1]) / 2 : x + linesWidth(leg) / 2;
            x += portWidth(leg) + PORT_GAP;
        }
    }

    /**
     * Returns the legs at an edge of a box in an order in which none crosses another: first those to the left, the
     * nearest first, then those to the right, the farthest first.
     */
    private List<Leg> ports(String node, boolean top) {
        List<Leg> ports = new ArrayList<>(wiring.anchored(node, top));
        ports.sort(Comparator.comparingDouble(leg -> rank(distance(node, leg))));
        return ports;
    }

    private double distance(String node, Leg leg) {
        if (leg.wire().touches(node) && wiring.strip(leg.opposite(node)).isNode()) {
            return 0;
        }
        return places.getOrDefault(leg.wire().opposite(node), 0) - places.getOrDefault(node, 0);
    }

    /** Returns a key that orders distances as -1, -2, -3, 0, 3, 2, 1. */
    static double rank(double distance) {
        if (distance == 0) {
            return 0;
        }
        double near = 1 / (1 + Math.abs(distance));
        return distance < 0 ? -near - 1 : near + 1;
    }

    private double portsWidth(List<Leg> ports) {
        if (ports.size() == 1) { // in the middle, with its label to the right
            Leg leg = ports.get(0);
            return Math.max(linesWidth(leg), strokeWidth(leg) + 2 * labelWidth(leg));
        }
        double sum = 0;
        for (Leg leg : ports) {
            sum += portWidth(leg) + PORT_GAP;
        }
        return Math.max(0, sum - PORT_GAP);
    }

    /** Returns the width that a leg needs. Its routes may cover its label, because the two are never drawn together. */
    private double portWidth(Leg leg) {
        return Math.max(linesWidth(leg), (linesWidth(leg) + strokeWidth(leg)) / 2 + labelWidth(leg));
    }

    private double linesWidth(Leg leg) {
        return Math.max(strokeWidth(leg), lanes[leg.index()] * pitch + 2);
    }

    private static double strokeWidth(Leg leg) {
        return Theme.stroke(leg.wire().bandwidthGBps()) + 2;
    }

    private static double labelWidth(Leg leg) {
        return leg.labelled() ? TextStyle.BANDWIDTH.width(leg.wire().label()) + 4 : 0;
    }

    double left(String node) {
        return spans.get(node)[0];
    }

    double right(String node) {
        return spans.get(node)[1];
    }

    /** Returns the left and right edges of the frame around a NUMA node. */
    double[] frame(String root) {
        return frames.get(root);
    }

    double x(Leg leg) {
        return legX[leg.index()];
    }

    /** Returns the left and right ends of a strip. */
    double[] span(Strip strip) {
        if (strip.isNode()) {
            return spans.get(strip.id());
        }
        if (strip.kind() == Strip.Kind.BUS) {
            return new double[] {0, width};
        }
        double[] ends =
                wiring.at(strip.id()).stream().mapToDouble(this::x).sorted().toArray();
        return new double[] {ends[0], ends[ends.length - 1]};
    }

    double width() {
        return width;
    }
}
