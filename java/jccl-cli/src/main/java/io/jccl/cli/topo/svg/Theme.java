package io.jccl.cli.topo.svg;

import io.jccl.topology.LinkType;
import io.jccl.topology.NodeType;
import java.util.List;
import java.util.Locale;

/** The style sheet, the names of its classes, and the widths of lines. */
final class Theme {

    private static final String COMMON =
            """
            text { font-family: "Segoe UI", "Helvetica Neue", Arial, "Liberation Sans", sans-serif; }
            .middle { text-anchor: middle; }
            .name, .small, .bandwidth { paint-order: stroke; stroke-width: 3px; }
            .name, .small { stroke-opacity: 0.8; }
            .channel { stroke: none; }
            .wire, .lane { fill: none; stroke-linejoin: round; }
            .casing { fill: none; stroke-dasharray: none; }
            """;

    /** Dashes of routes. Routes beyond the number of colours are dashed, so that no two look alike. */
    private static final List<String> ROUTE_DASHES = List.of("none", "8 3", "3 2", "9 2 2 2");

    private Theme() {}

    /**
     * Returns the style sheet: dark colours if the reader's page is dark, else light ones, also for viewers that do not
     * know this media query.
     */
    static String style() {
        StringBuilder css = new StringBuilder(COMMON);
        for (TextStyle style : TextStyle.values()) {
            css.append(style.rule());
        }
        for (LinkType type : LinkType.values()) {
            css.append(".wire." + link(type) + " { stroke-dasharray: " + dashes(type) + "; }\n");
        }
        for (int number = 0; number < ROUTE_DASHES.size(); number++) {
            css.append(".dashes-" + number + " { stroke-dasharray: " + ROUTE_DASHES.get(number) + "; }\n");
        }
        css.append(Palette.LIGHT.rules());
        css.append("@media (prefers-color-scheme: dark) {\n");
        css.append(Palette.DARK.rules());
        return css.append("}\n").toString();
    }

    /** Returns the width of a link. It grows with the logarithm of the bandwidth, so that 6 and 900 GB/s both fit. */
    static double stroke(double bandwidthGBps) {
        double width = 1.5 + 1.5 * Math.log(1 + bandwidthGBps / 6) / Math.log(2);
        return Math.min(14, width);
    }

    /** Returns the dashes of a link. They differ between types, so that readers need not distinguish colours. */
    static String dashes(LinkType type) {
        return switch (type) {
            case NVL -> "none";
            case C2C -> "16 4";
            case PCI -> "12 1.5";
            case MEM -> "4 2";
            case SYS -> "14 3 3 3";
            case NET -> "6 4";
            case LOC -> "2 2";
        };
    }

    /** Returns the classes of boxes of a type. */
    static String box(NodeType type) {
        return fill(type) + " " + edge(type);
    }

    static String fill(NodeType type) {
        return "fill-" + name(type);
    }

    static String edge(NodeType type) {
        return "edge-" + name(type);
    }

    static String link(LinkType type) {
        return "link-" + name(type);
    }

    /** Returns the class of a route's colour, by the route's number. */
    static String route(int number) {
        return "route-" + number % Palette.LIGHT.routes().size();
    }

    /** Returns the class of a route's dashes, by the route's number. */
    static String dashes(int number) {
        return "dashes-" + number / Palette.LIGHT.routes().size() % ROUTE_DASHES.size();
    }

    private static String name(Enum<?> type) {
        return type.name().toLowerCase(Locale.ROOT);
    }
}
