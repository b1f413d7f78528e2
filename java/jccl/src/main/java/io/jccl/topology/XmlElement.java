package io.jccl.topology;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * One element of a host description: its type, its attributes as they were spelt, and what it contains. Two elements
 * are equal when all of these are; the line it came from does not count. Attributes and elements that {@link ElementType}
 * does not know are kept beside the others.
 */
public final class XmlElement {

    private final ElementType type;
    private final String tag;
    private final Map<String, String> attributes;
    private final List<XmlElement> children;
    private final List<XmlElement> unknown;
    private final int line;

    /**
     * A checked element of a type that JCCL knows.
     *
     * @param children what it contains; those of {@link ElementType#UNKNOWN} are kept apart
     * @param line the line it came from, 0 where it was made by a program
     * @throws TopologyException if an attribute or a child does not belong here, is missing, or has a bad value
     */
    public XmlElement(ElementType type, Map<String, String> attributes, List<XmlElement> children, int line) {
        this(type, type.tag(), attributes, children, line);
    }

    private XmlElement(
            ElementType type, String tag, Map<String, String> attributes, List<XmlElement> children, int line) {
        this.type = type;
        this.tag = tag;
        this.attributes = Collections.unmodifiableMap(new LinkedHashMap<>(attributes));
        List<XmlElement> known = new ArrayList<>();
        List<XmlElement> others = new ArrayList<>();
        for (XmlElement child : children) {
            (child.isUnknown() ? others : known).add(child);
        }
        this.children = List.copyOf(known);
        this.unknown = List.copyOf(others);
        this.line = line;
        checkAttributes();
        for (XmlElement child : this.children) {
            if (!type.allowedChildren().contains(child.type)) {
                throw new TopologyException(child.where() + ": not allowed in <" + tag + ">; expected "
                        + type.allowedChildren().stream().map(ElementType::tag).toList());
            }
        }
    }

    /**
     * An element of a name that JCCL does not know.
     *
     * @param children all unknown too
     * @throws TopologyException if a name, a value or a child cannot be kept
     */
    static XmlElement unknown(String tag, Map<String, String> attributes, List<XmlElement> children, int line) {
        if (!AttributeRule.isName(tag)) {
            throw new TopologyException("line=" + line + " element=<" + printable(tag)
                    + ">: unknown; expected letters, digits, '.', '_' and '-', 256 at most");
        }
        return new XmlElement(ElementType.UNKNOWN, tag, attributes, children, line);
    }

    private void checkAttributes() {
        for (Map.Entry<String, String> attribute : attributes.entrySet()) {
            String name = attribute.getKey();
            String value = attribute.getValue();
            AttributeRule rule = type.rule(name);
            if (rule == null && !AttributeRule.isName(name)) {
                throw new TopologyException(where() + " attribute=" + printable(name)
                        + ": unknown; expected letters, digits, '.', '_' and '-', 256 at most");
            }
            String expected = (rule == null ? AttributeRule.KEPT : rule).violation(value);
            if (expected != null) {
                throw new TopologyException(
                        where() + " " + name + "=\"" + printable(value) + "\": expected " + expected);
            }
        }
        for (AttributeRule rule : type.rules()) {
            if (rule.required() && !attributes.containsKey(rule.name())) {
                throw new TopologyException(where() + " attribute=" + rule.name() + ": missing; it is required here");
            }
        }
    }

    /** What kind of element this is. */
    public ElementType type() {
        return type;
    }

    /** The element's name in XML. */
    public String tag() {
        return tag;
    }

    /** Whether JCCL does not know the name of this element. */
    public boolean isUnknown() {
        return type == ElementType.UNKNOWN;
    }

    /** The attributes in their order, as they were spelt. */
    public Map<String, String> attributes() {
        return attributes;
    }

    /** What this element contains, in order, without what is unknown. */
    public List<XmlElement> children() {
        return children;
    }

    /** The elements in this one whose names JCCL does not know, in order. */
    public List<XmlElement> unknown() {
        return unknown;
    }

    /** The children of one type, in order. */
    public List<XmlElement> children(ElementType childType) {
        List<XmlElement> found = new ArrayList<>();
        for (XmlElement child : children) {
            if (child.type == childType) {
                found.add(child);
            }
        }
        return found;
    }

    /** The line this element came from, 0 where it was made by a program. */
    public int line() {
        return line;
    }

    /** An attribute as text. */
    public Optional<String> text(String attribute) {
        return Optional.ofNullable(attributes.get(attribute));
    }

    /** An attribute as a whole number. */
    public int integer(String attribute, int otherwise) {
        String value = attributes.get(attribute);
        return value == null ? otherwise : Integer.parseInt(value);
    }

    /** An attribute as a decimal number. */
    public double number(String attribute, double otherwise) {
        String value = attributes.get(attribute);
        return value == null ? otherwise : Double.parseDouble(value);
    }

    /** An attribute as a yes or no. */
    public boolean flag(String attribute) {
        return "1".equals(attributes.get(attribute));
    }

    /** A hexadecimal attribute; values of 64 bits come out as the same bits. */
    public long hex(String attribute, long otherwise) {
        String value = attributes.get(attribute);
        return value == null ? otherwise : Long.parseUnsignedLong(value.substring(2), 16);
    }

    /** Line and element, for messages. */
    public String where() {
        return "line=" + line + " element=<" + tag + ">";
    }

    /** This element with other children; the unknown ones stay. */
    public XmlElement withChildren(List<XmlElement> others) {
        List<XmlElement> all = new ArrayList<>(others);
        all.addAll(unknown);
        return new XmlElement(type, tag, attributes, all, line);
    }

    /** What can be shown of text from an untrusted file: no control characters, nor such as turn the line round. */
    public static String printable(String text) {
        String head = text.length() > 60 ? text.substring(0, 60) + "…" : text;
        return head.replaceAll("[\\p{Cc}\\p{Cf}]", "?");
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof XmlElement that
                && tag.equals(that.tag)
                && type == that.type
                && attributes.equals(that.attributes)
                && children.equals(that.children)
                && unknown.equals(that.unknown);
    }

    @Override
    public int hashCode() {
        return Objects.hash(tag, attributes, children, unknown);
    }

    @Override
    public String toString() {
        return "<" + tag + " " + attributes + " " + children.size() + " children>";
    }
}
