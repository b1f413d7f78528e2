package io.jccl.cli.topo.svg;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Assigns to every step of every route a lane of its own on the legs and strips that it follows. */
final class Lanes {

    /** A run longer than this share of its strip is long. Long runs get lanes away from the many short ones. */
    private static final double LONG = 0.4;

    private final List<Trace> traces;
    private final Columns columns;
    private final Wiring wiring;
    private final double pitch;
    private final double[][] x;
    private final int[][] lanes;
    private final Map<String, Integer> lanesOfStrip = new HashMap<>();

    private record Use(int trace, int place) {}

    Lanes(List<Trace> traces, Wiring wiring, Columns columns, double pitch) {
        this.traces = traces;
        this.columns = columns;
        this.wiring = wiring;
        this.pitch = pitch;
        this.x = new double[traces.size()][];
        this.lanes = new int[traces.size()][];
        Map<Integer, List<Use>> byLeg = new HashMap<>();
        Map<String, List<Use>> byStrip = new HashMap<>();
        for (int trace = 0; trace < traces.size(); trace++) {
            List<Leg> legs = traces.get(trace).legs();
            x[trace] = new double[legs.size()];
            lanes[trace] = new int[legs.size()];
            for (int place = 0; place < legs.size(); place++) {
                Use use = new Use(trace, place);
                byLeg.computeIfAbsent(legs.get(place).index(), leg -> new ArrayList<>())
                        .add(use);
                if (place > 0) {
                    String strip = traces.get(trace).strips().get(place);
                    byStrip.computeIfAbsent(strip, id -> new ArrayList<>()).add(use);
                }
            }
        }
        byLeg.values().forEach(this::spreadLeg);
        byStrip.forEach(this::packStrip);
    }

    /** Returns the number of routes along each leg, by the leg's index. */
    static int[] perLeg(List<Trace> traces, int legs) {
        int[] count = new int[legs];
        traces.forEach(trace -> trace.legs().forEach(leg -> count[leg.index()]++));
        return count;
    }

    private void spreadLeg(List<Use> uses) {
        uses.sort(Comparator.comparingDouble((Use use) -> Columns.rank(turn(use)))
                .thenComparingInt(use -> turn(use) < 0 ? group(use) : -group(use)));
        for (int i = 0; i < uses.size(); i++) {
            Use use = uses.get(i);
            Leg leg = traces.get(use.trace).legs().get(use.place);
            x[use.trace][use.place] = columns.x(leg) + (i - (uses.size() - 1) / 2.0) * pitch;
        }
    }

    private int group(Use use) {
        return traces.get(use.trace).group();
    }

    /**
     * Returns how far to the right a route goes at its next turn. If no turn follows, returns how far to the right the
     * route was before its last turn; 0 if it never turns.
     */
    private double turn(Use use) {
        List<Leg> legs = traces.get(use.trace).legs();
        for (int place = use.place; place + 1 < legs.size(); place++) {
            double aside = columns.x(legs.get(place + 1)) - columns.x(legs.get(place));
            if (aside != 0) {
                return aside;
            }
        }
        for (int place = use.place; place > 0; place--) {
            double aside = columns.x(legs.get(place - 1)) - columns.x(legs.get(place));
            if (aside != 0) {
                return aside;
            }
        }
        return 0;
    }

    private void packStrip(String id, List<Use> uses) {
        double[] span = columns.span(wiring.strip(id));
        double longest = (span[1] - span[0]) * LONG;
        uses.sort(Comparator.comparing((Use use) -> run(use) > longest).thenComparingInt(this::group));
        Packing packing = new Packing(pitch);
        for (Use use : uses) {
            lanes[use.trace][use.place] = packing.place(x[use.trace][use.place - 1], x[use.trace][use.place]);
        }
        lanesOfStrip.put(id, packing.lanes());
    }

    private double run(Use use) {
        return Math.abs(x[use.trace][use.place] - x[use.trace][use.place - 1]);
    }

    /** Returns the x at which a step runs along one of its legs. */
    double x(int trace, int place) {
        return x[trace][place];
    }

    /** Returns the lane in which a step runs along the strip before one of its legs, which must not be its first. */
    int lane(int trace, int place) {
        return lanes[trace][place];
    }

    /** Returns the number of lanes of a strip that are in use. */
    int lanes(String strip) {
        return lanesOfStrip.getOrDefault(strip, 0);
    }

    List<Trace> traces() {
        return traces;
    }
}
