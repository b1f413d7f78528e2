package io.jccl.cli.topo.svg;

import io.jccl.topology.LinkType;
import io.jccl.topology.NodeType;
import java.util.List;
import java.util.Locale;

/** Colours, widths and letters. */
final class Theme {

    /** Distinct on white, and apart from each other for most colour-blind readers. */
    private static final List<String> ROUTES = List.of(
            "#d62728", "#1f77b4", "#2ca02c", "#ff7f0e", "#9467bd", "#17a2b8", "#e377c2", "#8c564b", "#bcbd22",
            "#000080", "#7f7f7f", "#006d5b");

    /** How much wider a letter is, at most, than a hundredth of its size; for sans-serif fonts. */
    private static final double LETTER = 0.6;

    static final String STYLE =
            """
            text { font-family: "Segoe UI", "Helvetica Neue", Arial, "Liberation Sans", sans-serif; fill: #1c2733; }
            .title { font-size: 24px; font-weight: 600; }
            .figures { font-size: 14px; fill: #45525f; }
            .heading { font-size: 18px; font-weight: 600; }
            .about { font-size: 13px; fill: #45525f; }
            .name { font-size: 12px; font-weight: 600; paint-order: stroke; stroke: #fff; stroke-width: 3px; stroke-opacity: 0.8; }
            .small { font-size: 10px; fill: #45525f; paint-order: stroke; stroke: #fff; stroke-width: 3px; stroke-opacity: 0.8; }
            .route { font-size: 12px; }
            .middle { text-anchor: middle; }
            .bandwidth { font-size: 11px; fill: #1c2733; paint-order: stroke; stroke: #fff; stroke-width: 3px; }
            .wire, .lane { fill: none; stroke-linejoin: round; }
            .casing { fill: none; stroke: #fff; }
            """;

    /** What is neither a box, nor a link, nor a route. */
    static final String PLAIN = "#45525f";

    private Theme() {}

    /** An upper bound for the width of text. */
    static double width(String text, double size) {
        return text.length() * size * LETTER;
    }

    /** The width of a link: grows with the logarithm of its bandwidth, so that 6 and 900 GB/s both fit. */
    static double stroke(double bandwidthGBps) {
        double width = 1.5 + 1.5 * Math.log(1 + bandwidthGBps / 6) / Math.log(2);
        return Math.min(14, width);
    }

    static String colour(LinkType type) {
        return switch (type) {
            case NVL -> "#76b900";
            case C2C -> "#8e63ce";
            case PCI -> "#7d93ab";
            case MEM -> "#b08d57";
            case SYS -> "#e0913a";
            case NET -> "#2aa198";
            case LOC -> "#b9c2cb";
        };
    }

    static String fill(NodeType type) {
        return switch (type) {
            case GPU -> "#e6f4c8";
            case HOST -> "#f3e8d2";
            case CPU -> "#fbe3c6";
            case PCI -> "#dfe6ee";
            case NVS -> "#cfe8a0";
            case NIC -> "#d8efec";
            case NET -> "#b9e3dd";
        };
    }

    static String edge(NodeType type) {
        return switch (type) {
            case GPU, NVS -> "#5b8f00";
            case HOST -> "#94753f";
            case CPU -> "#c27a26";
            case PCI -> "#64798f";
            case NIC, NET -> "#1f7f78";
        };
    }

    static String meaning(NodeType type) {
        return switch (type) {
            case GPU -> "GPU, numbered by rank";
            case HOST -> "rank in host memory";
            case CPU -> "NUMA node: CPU and its memory";
            case PCI -> "PCI switch";
            case NVS -> "NVLink switches";
            case NIC -> "network card";
            case NET -> "network port";
        };
    }

    static String meaning(LinkType type) {
        return switch (type) {
            case NVL -> "NVLink";
            case C2C -> "chip to chip (C2C)";
            case PCI -> "PCI Express";
            case MEM -> "memory";
            case SYS -> "between NUMA nodes";
            case NET -> "network";
            case LOC -> "inside one device";
        };
    }

    /** The colour of a route by its number; after the fixed ones, hues that are far from each other. */
    static String route(int number) {
        if (number < ROUTES.size()) {
            return ROUTES.get(number);
        }
        return String.format(Locale.ROOT, "hsl(%d,70%%,40%%)", (number * 137) % 360);
    }
}
