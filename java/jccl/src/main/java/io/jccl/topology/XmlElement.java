package io.jccl.topology;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * One element of a host description: its type, its attributes with their original spelling, and its children. Two
 * elements are equal if all of these are equal; line numbers are ignored. Attributes and elements that
 * {@link ElementType} does not know are kept.
 */
public final class XmlElement {

    private final ElementType type;
    private final String tag;
    private final Map<String, String> attributes;
    private final List<XmlElement> children;
    private final List<XmlElement> unknown;
    private final int line;

    /**
     * Makes an element of a type that JCCL knows, and checks it.
     *
     * @param children its children; those of {@link ElementType#UNKNOWN} are stored separately
     * @param line its line in the file, 0 if a program made it
     * @throws TopologyException if an attribute or a child is not allowed here, is missing, or has a bad value
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
     * Makes an element whose name JCCL does not know.
     *
     * @param children its children, all unknown too
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

    public ElementType type() {
        return type;
    }

    public String tag() {
        return tag;
    }

    /** Returns true if JCCL does not know the name of this element. */
    public boolean isUnknown() {
        return type == ElementType.UNKNOWN;
    }

    /** Returns the attributes in their order and original spelling. */
    public Map<String, String> attributes() {
        return attributes;
    }

    /** Returns the known children in their order. */
    public List<XmlElement> children() {
        return children;
    }

    /** Returns the children whose names JCCL does not know, in their order. */
    public List<XmlElement> unknown() {
        return unknown;
    }

    /** Returns the children of one type in their order. */
    public List<XmlElement> children(ElementType childType) {
        List<XmlElement> found = new ArrayList<>();
        for (XmlElement child : children) {
            if (child.type == childType) {
                found.add(child);
            }
        }
        return found;
    }

    /** Returns the line of this element in the file, 0 if a program made it. */
    public int line() {
        return line;
    }

    /** Returns an attribute as text; empty if the element does not have it. */
    public Optional<String> text(String attribute) {
        return Optional.ofNullable(attributes.get(attribute));
    }

    /** Returns an attribute as a whole number; {@code otherwise} if the element does not have it. */
    public int integer(String attribute, int otherwise) {
        String value = attributes.get(attribute);
        return value == null ? otherwise : Integer.parseInt(value);
    }

    /** Returns an attribute as a decimal number; {@code otherwise} if the element does not have it. */
    public double number(String attribute, double otherwise) {
        String value = attributes.get(attribute);
        return value == null ? otherwise : Double.parseDouble(value);
    }

    /** Returns true if an attribute has the value 1. */
    public boolean flag(String attribute) {
        return "1".equals(attributes.get(attribute));
    }

    /**
     * Returns a hexadecimal attribute as an unsigned 64-bit value; {@code otherwise} if the element does not have it.
     */
    public long hex(String attribute, long otherwise) {
        String value = attributes.get(attribute);
        return value == null ? otherwise : Long.parseUnsignedLong(value.substring(2), 16);
    }

    /** Returns line and name of the element, for messages. */
    public String where() {
        return "line=" + line + " element=<" + tag + ">";
    }

    /** Returns this element with other children; its unknown children stay. */
    public XmlElement withChildren(List<XmlElement> others) {
        List<XmlElement> all = new ArrayList<>(others);
        all.addAll(unknown);
        return new XmlElement(type, tag, attributes, all, line);
    }

    /**
     * Returns text from an untrusted file in a form that is safe to print: shortened, and without control characters or
     * characters that change the writing direction.
     */
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
