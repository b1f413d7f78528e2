package io.jccl.cli.perf;

import io.jccl.cli.output.Svg;
import java.util.List;

/**
 * Draws runs as one picture: bandwidth and time over size, and a legend that names the run of each curve. Equal runs
 * give equal pictures.
 */
final class PerfPlot {

    static final double TITLE = 20;
    static final double HEADING = 15;
    static final double SMALL = 12;

    private static final double MARGIN = 24;
    private static final double WIDTH = 2 * PlotPanel.WIDTH + 2 * MARGIN;
    private static final double PANELS_TOP = 96;
    private static final double LEGEND_TOP = PANELS_TOP + PlotPanel.HEIGHT + 16;
    private static final double LEGEND_ROW = 22;
    private static final double SWATCH = 36;

    /** Upper bound of a letter's width, as a fraction of the font size, for proportional and for monospaced fonts. */
    private static final double LETTER = 0.7;

    private static final String STYLE =
            """
            :root { color-scheme: light dark; }
            text { font-family: "Segoe UI", "Helvetica Neue", Arial, "Liberation Sans", sans-serif; fill: #1c2733; }
            .dim { fill: #45525f; }
            .page { fill: #ffffff; }
            .grid { stroke: #dde3e9; }
            .axis { stroke: #64717d; }
            """
                    + PlotMarker.styles()
                    + """
            .curve { fill: none; stroke-width: 2px; stroke-linejoin: round; }
            .again { stroke-dasharray: 7 4; }
            @media (prefers-color-scheme: dark) {
            text { fill: #e6edf3; }
            .dim { fill: #a9b4bf; }
            .page { fill: #12161b; }
            .grid { stroke: #2f363e; }
            .axis { stroke: #8b97a3; }
            """
                    + PlotMarker.darkStyles()
                    + """
            .curve { fill: none; }
            }
            """;

    private static final List<PlotPanel> PANELS = List.of(
            new PlotPanel("bandwidth", "Bus bandwidth (GB/s)", "GB/s", Curve.Point::busbwGBps),
            new PlotPanel("time", "Time (µs)", "µs", Curve.Point::timeUs));

    private PerfPlot() {}

    /**
     * Returns the picture as an SVG document.
     *
     * @param title title of the picture
     * @param about lines about the new run
     * @param curves curve of the new run, followed by those of earlier runs
     */
    static String draw(String title, List<String> about, List<Curve> curves) {
        double height = LEGEND_TOP + curves.size() * LEGEND_ROW + MARGIN;
        Svg svg = new Svg();
        svg.open(
                "svg",
                "xmlns",
                "http://www.w3.org/2000/svg",
                "width",
                WIDTH,
                "height",
                height,
                "viewBox",
                "0 0 " + Svg.number(WIDTH) + " " + Svg.number(height));
        svg.leaf("title", title);
        svg.leaf("style", STYLE);
        svg.empty("rect", "class", "page", "width", WIDTH, "height", height);
        text(svg, MARGIN, MARGIN + 16, TITLE, "start", "", title);
        for (int i = 0; i < about.size(); i++) {
            text(svg, MARGIN, MARGIN + 38 + 18 * i, SMALL, "start", "dim", about.get(i));
        }
        for (int i = 0; i < PANELS.size(); i++) {
            double x = MARGIN + i * PlotPanel.WIDTH;
            svg.open("g", "transform", "translate(" + Svg.number(x) + " " + Svg.number(PANELS_TOP) + ")");
            PANELS.get(i).draw(svg, curves);
            svg.close("g");
        }
        legend(svg, curves);
        return svg.close("svg").toString();
    }

    private static void legend(Svg svg, List<Curve> curves) {
        for (int i = 0; i < curves.size(); i++) {
            double y = LEGEND_TOP + i * LEGEND_ROW;
            PlotMarker marker = new PlotMarker(i);
            String label = curves.get(i).label();
            svg.empty(
                    "polyline",
                    "class",
                    marker.lineStyles(),
                    "points",
                    Svg.number(MARGIN) + "," + Svg.number(y) + " " + Svg.number(MARGIN + SWATCH) + "," + Svg.number(y));
            marker.draw(svg, MARGIN + SWATCH / 2, y, label);
            text(svg, MARGIN + SWATCH + 10, y + 4, SMALL, "start", "", label);
        }
    }

    /** Draws a line of text, cut so that it does not reach beyond the picture even in a wide font. */
    static void text(Svg svg, double x, double y, double size, String anchor, String style, String text) {
        int letters = (int) ((WIDTH - MARGIN - x) / (size * LETTER));
        svg.leaf(
                "text",
                text.length() <= letters ? text : text.substring(0, letters - 1) + "…",
                "x",
                x,
                "y",
                y,
                "font-size",
                size,
                "text-anchor",
                anchor,
                "class",
                style);
    }
}
