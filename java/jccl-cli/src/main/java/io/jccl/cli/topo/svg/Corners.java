package io.jccl.cli.topo.svg;

import java.util.ArrayList;
import java.util.List;

/**
 * Computes the corners of each step of a set of routes: from the edge of a box, along legs and lanes, to the edge of
 * another box.
 */
final class Corners {

    private final Layout layout;
    private final Lanes lanes;

    Corners(Layout layout, Lanes lanes) {
        this.layout = layout;
        this.lanes = lanes;
    }

    /** Returns the x and y of each corner of a step, including its ends. */
    List<double[]> of(int step) {
        Trace trace = lanes.traces().get(step);
        List<double[]> points = new ArrayList<>();
        List<Leg> legs = trace.legs();
        int last = legs.size() - 1;
        points.add(new double[] {lanes.x(step, 0), edge(trace.strips().get(0), legs.get(0))});
        for (int place = 1; place <= last; place++) {
            double y = layout.laneY(lanes, trace.strips().get(place), lanes.lane(step, place));
            points.add(new double[] {lanes.x(step, place - 1), y});
            points.add(new double[] {lanes.x(step, place), y});
        }
        points.add(new double[] {lanes.x(step, last), edge(trace.strips().get(last + 1), legs.get(last))});
        return points;
    }

    private double edge(String node, Leg leg) {
        Box box = layout.box(node);
        return leg.upper().equals(node) ? box.bottom() - 3 : box.y() + 3;
    }
}
