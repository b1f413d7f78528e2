package io.jccl.cli.topo.svg;

import io.jccl.cli.output.Svg;

/**
 * A line of text at its place. A viewer whose font is unusually wide compresses it to the space that it has.
 *
 * @param style how it is written
 * @param text what is written
 * @param x its left end, or its middle
 * @param y its baseline
 * @param middle whether x is its middle
 * @param space how wide it may become
 */
record Label(TextStyle style, String text, double x, double y, boolean middle, double space) {

    /** How much wider than the bound a line may be in some font. */
    private static final double SPARE = 1.15;

    /** What it covers in a wide font. */
    Box box() {
        return box(Math.min(style.width(text), space));
    }

    /** What it most likely covers. */
    Box likelyBox() {
        return box(Math.min(style.likelyWidth(text), space));
    }

    private Box box(double width) {
        return new Box(middle ? x - width / 2 : x, y - style.size() + 2, width, style.size());
    }

    void draw(Svg svg) {
        String styles = middle ? style.css() + " middle" : style.css();
        if (style.width(text) * SPARE <= space) {
            svg.leaf("text", text, "x", x, "y", y, "class", styles);
            return;
        }
        double length = Math.min(style.likelyWidth(text), space);
        svg.leaf(
                "text",
                text,
                "x",
                x,
                "y",
                y,
                "class",
                styles,
                "textLength",
                length,
                "lengthAdjust",
                "spacingAndGlyphs");
    }
}
