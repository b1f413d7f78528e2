package io.jccl.cli.perf;

import io.jccl.cli.output.Svg;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The look of a run's curve: a colour and a shape, either of which tells runs apart.
 *
 * @param number number of the run
 */
record PlotMarker(int number) {

    /**
     * Colours of the runs. The first four come from Okabe and Ito, <a href="https://jfly.uni-koeln.de/color/">Color
     * Universal Design</a>, whose other colours are too light on white. All stand out from the light and the dark page,
     * and from each other, also for readers with protanopia or deuteranopia.
     */
    static final List<String> COLOURS =
            List.of("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8533ff", "#cc0036", "#000000");

    /** Replacement for the last colour on a dark page. */
    static final String LAST_WHEN_DARK = "#ffffff";

    private static final double RADIUS = 4;
    private static final double TIP = 5; // larger, because triangles look smaller

    /** Returns the CSS rules of all colours. */
    static String styles() {
        return IntStream.range(0, COLOURS.size())
                .mapToObj(colour -> rule(colour, COLOURS.get(colour)))
                .collect(Collectors.joining("\n", "", "\n"));
    }

    /** Returns the CSS rules that differ on a dark background. */
    static String darkStyles() {
        return rule(COLOURS.size() - 1, LAST_WHEN_DARK) + "\n";
    }

    private static String rule(int colour, String value) {
        return ".c" + colour + " { fill: " + value + "; stroke: " + value + "; }";
    }

    private String colour() {
        return "c" + number % COLOURS.size();
    }

    /** Returns the CSS classes of the curve's line, which is dashed if an earlier run has the same colour. */
    String lineStyles() {
        return colour() + " curve" + (number < COLOURS.size() ? "" : " again");
    }

    /** Draws the shape, with a text that appears when the pointer is on it. */
    void draw(Svg svg, double x, double y, String about) {
        switch (number % 4) {
            case 0 -> shape(svg, about, "circle", "cx", x, "cy", y, "r", RADIUS);
            case 1 -> shape(
                    svg, about, "rect", "x", x - RADIUS, "y", y - RADIUS, "width", 2 * RADIUS, "height", 2 * RADIUS);
            case 2 -> polygon(svg, about, x, y - TIP, x + TIP, y + RADIUS, x - TIP, y + RADIUS);
            default -> polygon(svg, about, x, y - TIP, x + TIP, y, x, y + TIP, x - TIP, y);
        }
    }

    private void polygon(Svg svg, String about, double... corners) {
        String points = IntStream.range(0, corners.length / 2)
                .mapToObj(i -> Svg.number(corners[2 * i]) + "," + Svg.number(corners[2 * i + 1]))
                .collect(Collectors.joining(" "));
        shape(svg, about, "polygon", "points", points);
    }

    private void shape(Svg svg, String about, String element, Object... place) {
        svg.open(
                element,
                Stream.concat(Stream.of("class", colour()), Stream.of(place)).toArray());
        svg.leaf("title", about).close(element);
    }
}
