package io.jccl.cli.topo.svg;

import io.jccl.cli.output.Svg;
import io.jccl.cli.topo.ChannelGroup;
import java.util.List;

/** Draws the routes of one set of channel groups over a layout. */
final class RoutePainter {

    private static final double CORNER = 5;

    private final Layout layout;
    private final Lanes lanes;
    private final List<ChannelGroup> groups;
    private final Corners corners;

    RoutePainter(Layout layout, Lanes lanes, List<ChannelGroup> groups) {
        this.layout = layout;
        this.lanes = lanes;
        this.groups = groups;
        this.corners = new Corners(layout, lanes);
    }

    void routes(Svg svg) {
        for (int number = 0; number < groups.size(); number++) {
            svg.open("g", "data-group", number, "class", Theme.route(number) + " " + Theme.dashes(number));
            for (int trace = 0; trace < lanes.traces().size(); trace++) {
                if (lanes.traces().get(trace).group() == number) {
                    step(svg, trace, stroke(number));
                }
            }
            svg.close("g");
        }
    }

    /** Draws the numbers of the channels over everything else. */
    void marks(Svg svg, List<Box> names) {
        for (Marks.Mark mark : new Marks(layout, lanes, groups, names).all()) {
            mark(svg, mark);
        }
    }

    /** Draws the numbers of a group of channels in a border of the group's colour. */
    static void mark(Svg svg, Marks.Mark mark) {
        svg.open("g", "data-channels", mark.label().text(), "class", Theme.route(mark.group()));
        HostPainter.rectangle(svg, mark.box(), 3, "page");
        mark.label().draw(svg);
        svg.close("g");
    }

    /**
     * Returns the line width of a group. The group with the most channels gets the width that its lane allows. The
     * others get less, in proportion to their channels.
     */
    private double stroke(int number) {
        double widest = layout.pitch() * 0.6;
        double share = groups.get(number).channels() / (double) groups.get(0).channels();
        return Math.max(2.2, widest * share);
    }

    private void step(Svg svg, int number, double stroke) {
        Trace trace = lanes.traces().get(number);
        List<double[]> points = corners.of(number);
        String path = rounded(points);
        svg.empty("path", "class", "casing", "d", path, "stroke-width", stroke + 1.5);
        svg.empty(
                "path",
                "class",
                "lane",
                "d",
                path,
                "stroke-width",
                stroke,
                "data-via",
                String.join(" ", trace.nodes(layout.wiring())));
        double[] begin = points.get(0);
        double[] end = points.get(points.size() - 1);
        double dot = Math.min(layout.pitch() / 2, stroke * 0.5 + 1);
        svg.empty("circle", "cx", begin[0], "cy", begin[1], "r", dot, "stroke", "none");
        if (trace.arrow()) {
            arrow(svg, end, points.get(points.size() - 2), stroke);
        } else {
            svg.empty("circle", "cx", end[0], "cy", end[1], "r", dot, "stroke", "none");
        }
    }

    private void arrow(Svg svg, double[] tip, double[] from, double stroke) {
        double side = Math.min(layout.pitch() / 2 + 0.5, stroke / 2 + 2.5);
        double back = tip[1] + (from[1] > tip[1] ? 2 : -2) * side;
        String path = "M" + Svg.number(tip[0]) + " " + Svg.number(tip[1])
                + "L" + Svg.number(tip[0] - side) + " " + Svg.number(back)
                + "L" + Svg.number(tip[0] + side) + " " + Svg.number(back) + "Z";
        svg.empty("path", "d", path, "stroke", "none");
    }

    /** Returns a path through points with round corners. */
    private static String rounded(List<double[]> points) {
        StringBuilder path = new StringBuilder("M" + pair(points.get(0)));
        for (int i = 1; i + 1 < points.size(); i++) {
            double[] corner = points.get(i);
            double[] before = toward(corner, points.get(i - 1));
            double[] after = toward(corner, points.get(i + 1));
            path.append('L').append(pair(before));
            path.append('Q').append(pair(corner)).append(' ').append(pair(after));
        }
        return path.append('L').append(pair(points.get(points.size() - 1))).toString();
    }

    private static double[] toward(double[] from, double[] to) {
        double length = Math.hypot(to[0] - from[0], to[1] - from[1]);
        double share = length == 0 ? 0 : Math.min(CORNER, length / 2) / length;
        return new double[] {from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share};
    }

    private static String pair(double[] point) {
        return Svg.number(point[0]) + " " + Svg.number(point[1]);
    }
}
