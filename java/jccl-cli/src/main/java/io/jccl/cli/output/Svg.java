package io.jccl.cli.output;

import java.util.Locale;

/** Writes SVG elements. Values are escaped; numbers have at most one decimal, so that equal input gives equal text. */
public final class Svg {

    private final StringBuilder out = new StringBuilder();
    private int depth;

    /** Opens an element. {@code attributes} contains names and values in turn. */
    public Svg open(String element, Object... attributes) {
        begin(element, attributes).append(">\n");
        depth++;
        return this;
    }

    /** Closes the element that was opened last. */
    public Svg close(String element) {
        depth--;
        indent().append("</").append(element).append(">\n");
        return this;
    }

    /** Writes an element without content. */
    public Svg empty(String element, Object... attributes) {
        begin(element, attributes).append("/>\n");
        return this;
    }

    /** Writes an element that contains only text. */
    public Svg leaf(String element, String text, Object... attributes) {
        begin(element, attributes).append('>').append(escape(text));
        out.append("</").append(element).append(">\n");
        return this;
    }

    private StringBuilder begin(String element, Object... attributes) {
        indent().append('<').append(element);
        for (int i = 0; i < attributes.length; i += 2) {
            Object value = attributes[i + 1];
            out.append(' ').append(attributes[i]).append("=\"");
            out.append(value instanceof Double number ? number(number) : escape(String.valueOf(value)));
            out.append('"');
        }
        return out;
    }

    private StringBuilder indent() {
        return out.append("  ".repeat(depth));
    }

    /** Formats a number with at most one decimal. */
    public static String number(double value) {
        long tenths = Math.round(value * 10);
        return tenths % 10 == 0 ? Long.toString(tenths / 10) : String.format(Locale.ROOT, "%.1f", tenths / 10.0);
    }

    private static String escape(String text) {
        StringBuilder safe = new StringBuilder();
        text.codePoints().forEach(point -> {
            switch (point) {
                case '&' -> safe.append("&amp;");
                case '<' -> safe.append("&lt;");
                case '>' -> safe.append("&gt;");
                case '"' -> safe.append("&quot;");
                default -> safe.appendCodePoint(allowed(point) ? point : '\ufffd');
            }
        });
        return safe.toString();
    }

    /** Returns true if XML 1.0 allows the character. */
    private static boolean allowed(int point) {
        return point >= 0x20 && !(point >= 0xd800 && point <= 0xdfff) && point != 0xfffe && point != 0xffff
                || point == '\t'
                || point == '\n';
    }

    @Override
    public String toString() {
        return out.toString();
    }
}
