package io.jccl.cli.topo.svg;

import io.jccl.cli.output.Svg;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The kinds of text in a picture, with upper bounds for the width of a line. A viewer without the fonts of the style
 * sheet uses others. So the bounds are those of DejaVu Sans Bold and Verdana Bold, the widest of the usual fonts.
 */
enum TextStyle {
    TITLE(20, true),
    FIGURES(14, false),
    HEADING(18, true),
    ABOUT(13, false),
    ENTRY(12, false),
    NAME(12, true),
    SMALL(10, false),
    BANDWIDTH(11, false),
    CHANNEL(8.5, true);

    private static final String NARROW = " !',-.:;|fijlrt";
    private static final String WIDE = "%&@MWmw";
    private static final String SIGNS = "#+<=>^~";

    /** Width of regular letters as a share of the width of bold letters. */
    private static final double REGULAR = 0.9;

    /** Width of text in the fonts of the style sheet as a share of the upper bound. */
    private static final double LIKELY = 0.85;

    private final double size;
    private final boolean bold;

    TextStyle(double size, boolean bold) {
        this.size = size;
        this.bold = bold;
    }

    double size() {
        return size;
    }

    /** Returns the name of this style's class in the style sheet. */
    String css() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Returns this style's rule in the style sheet. */
    String rule() {
        String weight = bold ? " font-weight: 600;" : "";
        return "." + css() + " { font-size: " + Svg.number(size) + "px;" + weight + " }\n";
    }

    /** Returns an upper bound for the width of a line. */
    double width(String text) {
        return text.codePoints().mapToDouble(TextStyle::ems).sum() * size * (bold ? 1 : REGULAR);
    }

    /** Returns the approximate width of a line in the fonts of the style sheet. */
    double likelyWidth(String text) {
        return width(text) * LIKELY;
    }

    /** Returns the width of a bold letter as a multiple of the font size. */
    private static double ems(int letter) {
        if (NARROW.indexOf(letter) >= 0) {
            return 0.5;
        }
        if (WIDE.indexOf(letter) >= 0 || letter >= 0x2000) {
            return 1.1;
        }
        boolean capital = letter >= 'A' && letter <= 'Z';
        return capital || SIGNS.indexOf(letter) >= 0 || letter > '~' ? 0.85 : 0.72;
    }

    /** Returns the text, or as much of its beginning as fits this width, with an ellipsis. */
    String cut(String text, double space) {
        if (width(text) <= space) {
            return text;
        }
        int end = text.length();
        while (end > 0 && width(text.substring(0, end) + "…") > space) {
            end = text.offsetByCodePoints(end, -1);
        }
        return text.substring(0, end) + "…";
    }

    /** Returns the text in lines that fit this width. Words stay whole unless one alone is too long. */
    List<String> wrap(String text, double space) {
        List<String> lines = new ArrayList<>();
        StringBuilder line = new StringBuilder();
        for (String word : text.split(" ")) {
            if (!line.isEmpty() && width(line + " " + word) > space) {
                lines.add(line.toString());
                line.setLength(0);
            }
            line.append(line.isEmpty() ? "" : " ").append(cut(word, space));
        }
        lines.add(line.toString());
        return lines;
    }
}
