package io.jccl.topology;

import java.util.Map;

/** Writes a host description as text that {@link TopologyXmlReader} reads back as an equal element. */
public final class TopologyXmlWriter {

    private TopologyXmlWriter() {}

    /** Returns the text of the element and everything in it, indented by two spaces and ended by a line feed. */
    public static String write(XmlElement element) {
        StringBuilder text = new StringBuilder();
        write(element, 0, text);
        return text.toString();
    }

    private static void write(XmlElement element, int depth, StringBuilder text) {
        String indent = "  ".repeat(depth);
        text.append(indent).append('<').append(element.tag());
        for (Map.Entry<String, String> attribute : element.attributes().entrySet()) {
            text.append(' ').append(attribute.getKey()).append("=\"");
            escape(attribute.getValue(), text);
            text.append('"');
        }
        if (element.children().isEmpty() && element.unknown().isEmpty()) {
            text.append("/>\n");
            return;
        }
        text.append(">\n");
        for (XmlElement child : element.children()) {
            write(child, depth + 1, text);
        }
        for (XmlElement child : element.unknown()) {
            write(child, depth + 1, text);
        }
        text.append(indent).append("</").append(element.tag()).append(">\n");
    }

    private static void escape(String value, StringBuilder text) {
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            switch (c) {
                case '&' -> text.append("&amp;");
                case '<' -> text.append("&lt;");
                case '>' -> text.append("&gt;");
                case '"' -> text.append("&quot;");
                    // A parser would turn these into spaces.
                case '\t', '\n', '\r' -> text.append("&#").append((int) c).append(';');
                default -> text.append(c);
            }
        }
    }
}
