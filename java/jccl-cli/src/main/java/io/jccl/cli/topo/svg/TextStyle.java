package io.jccl.cli.topo.svg;

import io.jccl.cli.output.Svg;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The kinds of text in a picture, and how wide a line of each becomes at most. A viewer that lacks the fonts of the style
 * sheet substitutes its own: the widths bound those of DejaVu Sans Bold and Verdana Bold, the widest of the usual ones.
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

    /** What letters that are not bold need of the width of those that are. */
    private static final double REGULAR = 0.9;

    /** What text needs of its greatest width in the fonts of the style sheet. */
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

    /** The name in the style sheet. */
    String css() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** The rule of the style sheet. */
    String rule() {
        String weight = bold ? " font-weight: 600;" : "";
        return "." + css() + " { font-size: " + Svg.number(size) + "px;" + weight + " }\n";
    }

    /** An upper bound for the width of a line. */
    double width(String text) {
        return text.codePoints().mapToDouble(TextStyle::ems).sum() * size * (bold ? 1 : REGULAR);
    }

    /** About what a line is wide in the fonts of the style sheet. */
    double likelyWidth(String text) {
        return width(text) * LIKELY;
    }

    /** The width of a bold letter by its size. */
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

    /** The text, or as much of its beginning as has space in this width, and an ellipsis. */
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

    /** The text in as many lines as it needs in this width; words stay whole unless one alone is too long. */
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
