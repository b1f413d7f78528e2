package io.jccl.search;

import io.jccl.topology.TopologyException;
import io.jccl.topology.XmlElement;
import java.util.List;

/** An element of a graph file, with checks of its attributes. */
record GraphElement(XmlElement element) {

    private static final String HEX = "0x";

    void requireTag(String... tags) {
        if (!List.of(tags).contains(element.tag())) {
            throw new TopologyException(
                    element.where() + ": unknown here; expected <" + String.join("> or <", tags) + ">");
        }
    }

    private String text(String attribute) {
        return element.text(attribute)
                .orElseThrow(() -> new TopologyException(
                        element.where() + " attribute=" + attribute + ": missing; it is required here"));
    }

    TopologyException wrong(String attribute, String expected) {
        return new TopologyException(
                element.where() + " " + attribute + "=\"" + XmlElement.printable(text(attribute)) + "\": " + expected);
    }

    /** Returns a whole number, decimal or with a leading 0x. NCCL has written the latter since 2.24. */
    int integer(String attribute, int min, int max) {
        String text = text(attribute);
        long value = -1;
        try {
            value = text.startsWith(HEX) ? Long.parseLong(text.substring(HEX.length()), 16) : Long.parseLong(text);
        } catch (NumberFormatException e) {
            // The value stays -1, which the check below refuses.
        }
        if (value < min || value > max) {
            throw wrong(attribute, "expected a whole number from " + min + " to " + max);
        }
        return (int) value;
    }

    /** Returns a bandwidth in GB/s. */
    double gbps(String attribute) {
        double value = 0;
        try {
            value = Double.parseDouble(text(attribute));
        } catch (NumberFormatException e) {
            // The value stays 0, which the check below refuses.
        }
        if (!(value > 0) || value > 1e9) {
            throw wrong(attribute, "expected GB/s, more than 0 and at most 1e9");
        }
        return value;
    }
}
