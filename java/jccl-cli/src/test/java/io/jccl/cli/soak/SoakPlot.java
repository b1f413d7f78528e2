package io.jccl.cli.soak;

import io.jccl.cli.output.Svg;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Draws the resources that the processes of a soak test used over time: a panel for each quantity, a curve for each
 * process.
 */
public final class SoakPlot {

    private static final double MARGIN = 24;
    private static final double WIDTH = 1000;
    private static final double LEFT = MARGIN + 60;
    private static final double RIGHT = WIDTH - MARGIN - 8;
    private static final double FIRST_PANEL = 100;
    private static final double PANEL = 170;
    private static final double PLOT = 112;
    private static final int KIB_IN_MIB = 1024;
    private static final int TICKS = 5;
    /** A curve has at most this number of points plus one, so that the picture of an hour stays small. */
    private static final int MAX_POINTS = 200;

    private static final String STYLE =
            """
            :root { color-scheme: light dark; }
            text { font-family: "Segoe UI", "Helvetica Neue", Arial, "Liberation Sans", sans-serif; fill: #1c2733; }
            .dim { fill: #45525f; }
            .page { fill: #ffffff; }
            .grid { stroke: #dde3e9; }
            .axis { stroke: #64717d; }
            .curve { fill: none; stroke-width: 2px; stroke-linejoin: round; }
            .c0 { stroke: #0b62b8; }
            .c1 { stroke: #b35900; stroke-dasharray: 8 3; }
            .c2 { stroke: #1b7a3d; stroke-dasharray: 2 3; }
            .c3 { stroke: #8a2fa0; }
            @media (prefers-color-scheme: dark) {
            text { fill: #e6edf3; }
            .dim { fill: #a9b4bf; }
            .page { fill: #12161b; }
            .grid { stroke: #2f363e; }
            .axis { stroke: #8b97a3; }
            .c0 { stroke: #6cb2f5; }
            .c1 { stroke: #f0a050; }
            .c2 { stroke: #6fcf8f; }
            .c3 { stroke: #d394e6; }
            }
            """;

    /**
     * A panel that shows one quantity.
     *
     * @param title the quantity and its unit
     * @param column the column of the samples
     * @param divisor the number by which the values of the column are divided
     */
    private record Panel(String title, String column, double divisor) {}

    private static final List<Panel> PANELS = List.of(
            new Panel("Resident memory (MiB)", "resident_kib", KIB_IN_MIB),
            new Panel("Native memory, not shared (MiB)", "native_kib", KIB_IN_MIB),
            new Panel("Shared memory (MiB)", "shared_kib", KIB_IN_MIB),
            new Panel("Descriptors", "descriptors", 1),
            new Panel("Threads", "threads", 1));

    private final List<String> columns;
    private final Map<String, List<String[]>> rows = new LinkedHashMap<>();
    private final double minutes;

    private SoakPlot(List<String> lines) {
        columns = List.of(lines.get(0).split(","));
        double latest = 0;
        for (String line : lines.subList(1, lines.size())) {
            String[] row = line.split(",");
            rows.computeIfAbsent(row[0], name -> new ArrayList<>()).add(row);
            latest = Math.max(latest, Double.parseDouble(row[1]));
        }
        minutes = latest / 60;
    }

    /** Arguments: the file of samples of {@code scripts/check-soak}, and the file of the picture. */
    public static void main(String[] arguments) throws IOException {
        List<String> lines = Files.readAllLines(Path.of(arguments[0]));
        if (lines.size() < 2) {
            throw new IOException(arguments[0] + ": has no samples");
        }
        Files.writeString(Path.of(arguments[1]), draw(lines));
    }

    /** Returns the picture of samples. Their first line contains the names of the columns. */
    static String draw(List<String> lines) {
        return new SoakPlot(lines).draw();
    }

    private String draw() {
        double height = FIRST_PANEL + PANELS.size() * PANEL + MARGIN;
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
        String title =
                String.format(Locale.ROOT, "Soak of %.0f minutes: what each process holds between epochs", minutes);
        svg.leaf("title", title);
        svg.leaf("style", STYLE);
        svg.empty("rect", "class", "page", "width", WIDTH, "height", height);
        text(svg, MARGIN, MARGIN + 16, 20, "start", "", title);
        legend(svg);
        for (int i = 0; i < PANELS.size(); i++) {
            panel(svg, PANELS.get(i), FIRST_PANEL + i * PANEL);
        }
        return svg.close("svg").toString();
    }

    private void legend(Svg svg) {
        double x = MARGIN;
        int number = 0;
        for (String name : rows.keySet()) {
            svg.empty("line", "class", "curve c" + number++, "x1", x, "y1", 64.0, "x2", x + 36, "y2", 64.0);
            text(svg, x + 44, 68, 13, "start", "", name);
            x += 160;
        }
    }

    private void panel(Svg svg, Panel panel, double top) {
        double bottom = top + PLOT;
        int column = columns.indexOf(panel.column);
        double max = rows.values().stream()
                .flatMap(List::stream)
                .mapToDouble(row -> Double.parseDouble(row[column]) / panel.divisor)
                .max()
                .orElse(1);
        double step = step(max);
        double high = step * Math.max(1, Math.ceil(max * 1.05 / step));
        text(svg, MARGIN, top - 10, 14, "start", "", panel.title);
        for (double value = 0; value <= high + step / 2; value += step) {
            double y = bottom - value / high * PLOT;
            svg.empty("line", "class", value == 0 ? "axis" : "grid", "x1", LEFT, "y1", y, "x2", RIGHT, "y2", y);
            text(svg, LEFT - 8, y + 4, 12, "end", "dim", Svg.number(value));
        }
        double minuteStep = step(minutes);
        for (double minute = 0; minute <= minutes; minute += minuteStep) {
            double x = LEFT + minute / minutes * (RIGHT - LEFT);
            svg.empty("line", "class", "axis", "x1", x, "y1", bottom, "x2", x, "y2", bottom + 4);
            text(svg, x, bottom + 18, 12, "middle", "dim", Svg.number(minute) + (minute == 0 ? " min" : ""));
        }
        int number = 0;
        for (Map.Entry<String, List<String[]>> curve : rows.entrySet()) {
            List<String[]> all = curve.getValue();
            int every = 1 + (all.size() - 1) / MAX_POINTS;
            String points = IntStream.range(0, all.size())
                    .filter(at -> at % every == 0 || at == all.size() - 1)
                    .mapToObj(all::get)
                    .map(row -> Svg.number(LEFT + Double.parseDouble(row[1]) / 60 / minutes * (RIGHT - LEFT)) + ","
                            + Svg.number(bottom - Double.parseDouble(row[column]) / panel.divisor / high * PLOT))
                    .collect(Collectors.joining(" "));
            svg.empty("polyline", "class", "curve c" + number++, "data-process", curve.getKey(), "points", points);
        }
    }

    /** Returns 1, 2 or 5 times a power of 10, so that about five steps reach {@code max}. */
    private static double step(double max) {
        double rough = Math.max(max, 1e-3) / TICKS;
        BigDecimal decimal = BigDecimal.valueOf(rough);
        double power = Math.pow(10, decimal.precision() - decimal.scale() - 1);
        double digit = rough / power;
        return power * (digit > 5 ? 10 : digit > 2 ? 5 : digit > 1 ? 2 : 1);
    }

    private static void text(Svg svg, double x, double y, double size, String anchor, String style, String text) {
        svg.leaf("text", text, "x", x, "y", y, "font-size", size, "text-anchor", anchor, "class", style);
    }
}
