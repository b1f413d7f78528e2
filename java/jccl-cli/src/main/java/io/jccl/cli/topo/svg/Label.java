package io.jccl.cli.topo.svg;

import io.jccl.cli.output.Svg;

/**
 * A line of text at a position. A viewer with an unusually wide font compresses it to the space that it has.
 *
 * @param style style of the text
 * @param text the text
 * @param x x of its left end or of its middle
 * @param y y of its baseline
 * @param middle true if x is that of its middle
 * @param space the largest width that it may have
 */
record Label(TextStyle style, String text, double x, double y, boolean middle, double space) {

    /** Factor by which a line may exceed its bound in some font. */
    private static final double SPARE = 1.15;

    /** Returns the area that the label covers in a wide font. */
    Box box() {
        return box(Math.min(style.width(text), space));
    }

    /** Returns the area that the label covers in the fonts of the style sheet. */
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
