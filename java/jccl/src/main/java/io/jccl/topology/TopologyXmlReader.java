package io.jccl.topology;

import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;

/**
 * Reads a host description or a file of graphs from untrusted text. Accepts at most {@value #MAX_BYTES} bytes with
 * {@value #MAX_ELEMENTS} elements nested {@value #MAX_DEPTH} deep. Refuses document types, entities, processing
 * instructions, name spaces and text between elements. Elements and attributes that {@link ElementType} defines must
 * comply with it; all others are kept. {@link ElementType} defines no element of a file of graphs, so all of them are
 * kept.
 */
public final class TopologyXmlReader {

    /** Largest size of a file in bytes. */
    public static final int MAX_BYTES = 8 << 20;

    static final int MAX_ELEMENTS = 65_536;
    static final int MAX_DEPTH = 48;

    /** Not changed after its construction. */
    private static final XMLInputFactory FACTORY = factory();

    private static final String GRAPHS = "graphs";

    private final Deque<Open> open = new ArrayDeque<>();
    private final String rootTag;
    private XmlElement root;
    private int elements;

    private record Open(
            String tag, ElementType type, Map<String, String> attributes, List<XmlElement> children, int line) {}

    private TopologyXmlReader(String rootTag) {
        this.rootTag = rootTag;
    }

    /** Reads a file and logs warnings about unknown names and odd NVLinks in it. */
    public static XmlElement read(Path file) {
        try (InputStream in = new BufferedInputStream(Files.newInputStream(file))) {
            XmlElement system = read(in, file.toString());
            UnknownNames.warn(system, file.toString());
            NvLinkRemarks.warn(system, file.toString());
            return system;
        } catch (IOException e) {
            throw new TopologyException(
                    "file=" + file + ": cannot be read (" + e + "); expected a host description as XML", e);
        }
    }

    /** Reads a description from a text. */
    public static XmlElement read(String xml) {
        return read(new ByteArrayInputStream(xml.getBytes(StandardCharsets.UTF_8)), "text");
    }

    /**
     * Reads a stream without closing it.
     *
     * @param source the name of the stream in error messages
     * @throws TopologyException if the stream is not a valid description
     */
    public static XmlElement read(InputStream in, String source) {
        try {
            XmlElement system = parse(in.readNBytes(MAX_BYTES + 1), ElementType.SYSTEM.tag());
            AmdGpus.refuse(system);
            return system;
        } catch (TopologyException e) {
            throw new TopologyException("topology=" + source + " " + e.getMessage(), e.getCause());
        } catch (IOException e) {
            throw new TopologyException("topology=" + source + ": cannot be read (" + e + ")", e);
        }
    }

    /**
     * Reads a file of graphs and checks only its XML form.
     *
     * @return the outermost element; it and all others are of {@link ElementType#UNKNOWN}
     * @throws TopologyException if the text is not acceptable XML, or its outermost element is not {@code graphs}
     */
    public static XmlElement readGraphs(byte[] bytes) {
        return parse(bytes, GRAPHS);
    }

    private static XmlElement parse(byte[] bytes, String rootTag) {
        if (bytes.length > MAX_BYTES) {
            throw new TopologyException("size: more than " + MAX_BYTES + " bytes; no host needs that");
        }
        return new TopologyXmlReader(rootTag).parse(decode(bytes));
    }

    private static XMLInputFactory factory() {
        XMLInputFactory factory = XMLInputFactory.newDefaultFactory();
        factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
        factory.setProperty(XMLInputFactory.IS_SUPPORTING_EXTERNAL_ENTITIES, false);
        factory.setProperty(XMLInputFactory.IS_REPLACING_ENTITY_REFERENCES, false);
        factory.setXMLReporter((message, type, information, location) -> {});
        factory.setXMLResolver((publicId, systemId, baseUri, namespace) -> {
            throw new XMLStreamException("external entity systemId=" + systemId + " is refused");
        });
        return factory;
    }

    /** Locks the factory, because XML factories need not be thread-safe. */
    private static XMLStreamReader newReader(String text) throws XMLStreamException {
        synchronized (FACTORY) {
            return FACTORY.createXMLStreamReader(new StringReader(text));
        }
    }

    /** Decodes UTF-8 before parsing, because the JDK's parser prints invalid bytes to standard error. */
    private static String decode(byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        CharBuffer out = CharBuffer.allocate(bytes.length);
        CoderResult result = StandardCharsets.UTF_8.newDecoder().decode(in, out, true);
        if (result.isError()) {
            long line = 1 + out.flip().chars().filter(c -> c == '\n').count();
            throw new TopologyException("line=" + line + " byte=" + in.position() + ": expected UTF-8 text");
        }
        return out.flip().toString();
    }

    private XmlElement parse(String text) {
        int line = 0;
        try {
            XMLStreamReader reader = newReader(text);
            while (reader.hasNext()) {
                int event = reader.next();
                // The reader's location is the end of an event. A tag of several lines began on the line where the
                // previous event ended.
                int end = reader.getLocation().getLineNumber();
                handle(event, reader, open.isEmpty() ? end : line);
                line = end;
            }
            reader.close();
        } catch (XMLStreamException e) {
            int at = e.getLocation() == null ? line : e.getLocation().getLineNumber();
            throw new TopologyException(
                    "line=" + at + ": no well-formed XML (" + XmlElement.printable(firstLine(e)) + ")", e);
        } catch (TopologyException e) {
            throw e;
        } catch (RuntimeException e) {
            // The JDK's parser is known to throw other exceptions for malformed input.
            throw new TopologyException(
                    "line=" + line + ": no well-formed XML (" + e.getClass().getName() + ")", e);
        }
        if (root == null) {
            throw new TopologyException("line=" + line + ": no element; expected <" + rootTag + ">");
        }
        return root;
    }

    private static String firstLine(XMLStreamException e) {
        String message = String.valueOf(e.getMessage());
        int cut = message.indexOf("Message: ");
        return cut < 0 ? message : message.substring(cut + 9);
    }

    private void handle(int event, XMLStreamReader reader, int line) {
        switch (event) {
            case XMLStreamConstants.START_ELEMENT -> start(reader, line);
            case XMLStreamConstants.END_ELEMENT -> end();
            case XMLStreamConstants.CHARACTERS, XMLStreamConstants.CDATA, XMLStreamConstants.SPACE -> {
                if (!reader.isWhiteSpace()) {
                    throw new TopologyException("line=" + line + ": text=\"" + XmlElement.printable(reader.getText())
                            + "\" between elements; expected elements only");
                }
            }
            case XMLStreamConstants.COMMENT, XMLStreamConstants.END_DOCUMENT -> {}
            case XMLStreamConstants.DTD -> throw new TopologyException(
                    "line=" + line + ": document type declarations are refused; expected NCCL's form, with <" + rootTag
                            + "> as the outermost element and no <!DOCTYPE …>, which hwloc's files have");
            default -> throw new TopologyException("line=" + line
                    + ": entities and processing instructions are refused; expected elements only (event=" + event
                    + ")");
        }
    }

    private void start(XMLStreamReader reader, int line) {
        String tag = reader.getLocalName();
        if (!reader.getName().getPrefix().isEmpty() || reader.getNamespaceCount() > 0) {
            throw new TopologyException("line=" + line + " element=<" + XmlElement.printable(tag)
                    + ">: name spaces are refused; remove xmlns and prefixes");
        }
        boolean inUnknown = open.isEmpty() ? rootTag.equals(GRAPHS) : open.peek().type == ElementType.UNKNOWN;
        ElementType type =
                inUnknown ? ElementType.UNKNOWN : ElementType.ofTag(tag).orElse(ElementType.UNKNOWN);
        if (++elements > MAX_ELEMENTS) {
            throw new TopologyException("line=" + line + " element=<" + XmlElement.printable(tag) + ">: more than "
                    + MAX_ELEMENTS + " elements");
        }
        if (open.size() >= MAX_DEPTH) {
            throw new TopologyException("line=" + line + " element=<" + XmlElement.printable(tag)
                    + ">: nested more than " + MAX_DEPTH + " deep");
        }
        if (open.isEmpty() != (tag.equals(rootTag) && (open.isEmpty() || !inUnknown))) {
            throw new TopologyException("line=" + line + " element=<" + XmlElement.printable(tag) + ">: expected <"
                    + rootTag + "> as the outermost element, and only there" + otherKind(tag));
        }
        Map<String, String> attributes = new LinkedHashMap<>();
        for (int i = 0; i < reader.getAttributeCount(); i++) {
            if (!reader.getAttributeName(i).getPrefix().isEmpty()) {
                throw new TopologyException("line=" + line + " element=<" + XmlElement.printable(tag) + "> attribute="
                        + XmlElement.printable(reader.getAttributeLocalName(i))
                        + ": name spaces are refused; remove its prefix");
            }
            attributes.put(reader.getAttributeLocalName(i), reader.getAttributeValue(i));
        }
        open.push(new Open(tag, type, attributes, new ArrayList<>(), line));
    }

    /** Returns a hint for messages if the outermost tag belongs to a file that another setting reads. */
    private String otherKind(String tag) {
        if (!open.isEmpty() || tag.equals(rootTag)) {
            return "";
        }
        return switch (tag) {
            case GRAPHS -> "; a file of graphs is for JCCL_GRAPH_FILE";
            case "system" -> "; a host description is for JCCL_TOPO_FILE";
            case "topology" -> "; hwloc's files have another form";
            default -> "";
        };
    }

    private void end() {
        Open closed = open.pop();
        XmlElement element = closed.type == ElementType.UNKNOWN
                ? XmlElement.unknown(closed.tag, closed.attributes, closed.children, closed.line)
                : new XmlElement(closed.type, closed.attributes, closed.children, closed.line);
        if (open.isEmpty()) {
            root = element;
        } else {
            open.peek().children.add(element);
        }
    }
}
