package io.jccl.cli.perf;

import io.jccl.cli.output.ByteSizes;
import io.jccl.cli.output.Svg;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

/**
 * A panel of a plot: a quantity over the size, both logarithmic.
 *
 * @param name name for programs that read the picture
 * @param title the quantity with its unit
 * @param unit unit of the values
 * @param quantity returns the quantity at a point
 */
record PlotPanel(String name, String title, String unit, ToDoubleFunction<Curve.Point> quantity) {

    static final double WIDTH = 520;
    static final double HEIGHT = 420;

    private static final double LEFT = 72;
    private static final double RIGHT = 488;
    private static final double TOP = 32;
    private static final double BOTTOM = 372;
    private static final double TICK = 5;
    private static final double SMALL_TICK = 3;

    /** Draws the curves into the rectangle from 0, 0 to {@link #WIDTH}, {@link #HEIGHT}. */
    void draw(Svg svg, List<Curve> curves) {
        List<Curve> visible = curves.stream().map(this::visible).toList();
        PerfPlot.text(svg, LEFT, 18, PerfPlot.HEADING, "start", "", title);
        List<Curve.Point> all =
                visible.stream().flatMap(curve -> curve.points().stream()).toList();
        if (all.isEmpty()) {
            PerfPlot.text(svg, LEFT, (TOP + BOTTOM) / 2, PerfPlot.SMALL, "start", "dim", "no value above 0");
            return;
        }
        LogAxis sizes =
                LogAxis.ofSizes(all.stream().mapToLong(Curve.Point::bytes).toArray(), LEFT, RIGHT);
        LogAxis values = LogAxis.ofValues(all.stream().mapToDouble(quantity).toArray(), BOTTOM, TOP);
        axes(svg, sizes, values);
        for (int i = visible.size() - 1; i >= 0; i--) { // draws the new run last, above the others
            curve(svg, visible.get(i), i, sizes, values);
        }
    }

    /** Returns the part of a curve that a logarithmic axis can show. */
    private Curve visible(Curve curve) {
        return new Curve(
                curve.label(),
                curve.points().stream()
                        .filter(point -> point.bytes() > 0 && quantity.applyAsDouble(point) > 0)
                        .toList());
    }

    private static void axes(Svg svg, LogAxis sizes, LogAxis values) {
        for (LogAxis.Tick tick : sizes.ticks()) {
            double x = sizes.at(tick.value());
            boolean labelled = !tick.label().isEmpty();
            if (labelled) {
                line(svg, "grid", x, TOP, x, BOTTOM);
                PerfPlot.text(svg, x, BOTTOM + 20, PerfPlot.SMALL, "middle", "dim", tick.label());
            }
            line(svg, "axis", x, BOTTOM, x, BOTTOM + (labelled ? TICK : SMALL_TICK));
        }
        for (LogAxis.Tick tick : values.ticks()) {
            double y = values.at(tick.value());
            boolean labelled = !tick.label().isEmpty();
            if (labelled) {
                line(svg, "grid", LEFT, y, RIGHT, y);
                PerfPlot.text(svg, LEFT - 10, y + 4, PerfPlot.SMALL, "end", "dim", tick.label());
            }
            line(svg, "axis", LEFT - (labelled ? TICK : SMALL_TICK), y, LEFT, y);
        }
        line(svg, "axis", LEFT, TOP, LEFT, BOTTOM);
        line(svg, "axis", LEFT, BOTTOM, RIGHT, BOTTOM);
        PerfPlot.text(svg, (LEFT + RIGHT) / 2, BOTTOM + 42, PerfPlot.SMALL, "middle", "dim", "size (bytes)");
    }

    private static void line(Svg svg, String style, double x1, double y1, double x2, double y2) {
        svg.empty("line", "class", style, "x1", x1, "y1", y1, "x2", x2, "y2", y2);
    }

    private void curve(Svg svg, Curve curve, int number, LogAxis sizes, LogAxis values) {
        PlotMarker marker = new PlotMarker(number);
        svg.open("g", "data-panel", name, "data-run", curve.label());
        String path = curve.points().stream()
                .map(point -> Svg.number(sizes.at(point.bytes())) + ","
                        + Svg.number(values.at(quantity.applyAsDouble(point))))
                .collect(Collectors.joining(" "));
        svg.empty("polyline", "class", marker.lineStyles(), "points", path);
        for (Curve.Point point : curve.points()) {
            double value = quantity.applyAsDouble(point);
            String about = String.format(
                    Locale.ROOT, "%s: %s, %.4g %s", curve.label(), ByteSizes.format(point.bytes()), value, unit);
            marker.draw(svg, sizes.at(point.bytes()), values.at(value), about);
        }
        svg.close("g");
    }
}
