package io.jccl.cli.topo.svg;

import java.util.ArrayList;
import java.util.List;

/** Distributes intervals over few lanes, without overlaps: each interval gets the first lane with space for it. */
final class Packing {

    private final double margin;
    private final List<List<double[]>> lanes = new ArrayList<>();

    /** Creates a packing that keeps this distance between the intervals of a lane. */
    Packing(double margin) {
        this.margin = margin;
    }

    /** Places an interval; returns its lane. */
    int place(double from, double to) {
        double left = Math.min(from, to) - margin / 2;
        double right = Math.max(from, to) + margin / 2;
        int lane = 0;
        while (lane < lanes.size() && taken(lane, left, right)) {
            lane++;
        }
        if (lane == lanes.size()) {
            lanes.add(new ArrayList<>());
        }
        lanes.get(lane).add(new double[] {left, right});
        return lane;
    }

    private boolean taken(int lane, double left, double right) {
        return lanes.get(lane).stream().anyMatch(other -> left < other[1] && other[0] < right);
    }

    /** Returns the number of lanes. */
    int lanes() {
        return lanes.size();
    }
}
