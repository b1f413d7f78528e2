package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;

/**
 * The measured constants of the host backend, one table with its source. The format is that of the resource
 * {@code host-costs.properties}, which explains every key.
 */
public final class HostCosts {

    private static final String RESOURCE = "host-costs.properties";

    /** The constants that do not depend on transport, algorithm and protocol. */
    enum General {
        OPERATION_US("operation_us"),
        CHANNEL_US("channel_us"),
        STEP_US("step_us"),
        OVERSUBSCRIBED_HOP_US("oversubscribed_hop_us"),
        OVERSUBSCRIBED_DIRECT_FACTOR("oversubscribed_direct_factor"),
        CHUNK_BYTES("chunk_bytes"),
        OVERSUBSCRIBED_CHUNK_BYTES("oversubscribed_chunk_bytes"),
        ZERO_COPY_MIN_BYTES("zero_copy_min_bytes"),
        DIRECT_MAX_BYTES("direct_max_bytes"),
        OVERSUBSCRIBED_DIRECT_MAX_BYTES("oversubscribed_direct_max_bytes"),
        LENT_DIRECT_MAX_BYTES("lent_direct_max_bytes");

        private final String key;

        General(String key) {
            this.key = key;
        }
    }

    private final String source;
    private final double[] general;
    private final LinkCost[] links;

    private HostCosts(String source, double[] general, LinkCost[] links) {
        this.source = source;
        this.general = general;
        this.links = links;
    }

    /** The table that the library brings. */
    public static HostCosts builtIn() {
        try (InputStream in = HostCosts.class.getResourceAsStream(RESOURCE)) {
            if (in == null) {
                throw new IllegalStateException("resource=" + RESOURCE + " is missing from the library: rebuild it");
            }
            return read(new InputStreamReader(in, StandardCharsets.UTF_8), RESOURCE);
        } catch (IOException e) {
            throw new UncheckedIOException("resource=" + RESOURCE + " cannot be read", e);
        }
    }

    /**
     * Reads a table.
     *
     * @param in the text; not closed
     * @param name what to call it in errors
     * @throws IllegalArgumentException if a key is missing or unknown, or a value is no number from 0 up
     */
    public static HostCosts read(Reader in, String name) throws IOException {
        Properties properties = new Properties();
        properties.load(in);
        return parse(properties, name);
    }

    private static HostCosts parse(Properties properties, String name) {
        Set<String> left = new HashSet<>(properties.stringPropertyNames());
        double[] general = new double[General.values().length];
        for (General constant : General.values()) {
            general[constant.ordinal()] = number(properties, constant.key, name, left);
        }
        LinkCost[] links = new LinkCost[linkCount()];
        for (TransportKind transport : TransportKind.values()) {
            for (Algorithm algorithm : Algorithm.values()) {
                for (Protocol protocol : Protocol.values()) {
                    String key = key(transport, algorithm, protocol);
                    links[index(transport, algorithm, protocol)] = new LinkCost(
                            number(properties, key + ".hop_us", name, left),
                            number(properties, key + ".ns_per_byte", name, left));
                }
            }
        }
        left.remove("source");
        if (!left.isEmpty()) {
            throw new IllegalArgumentException(name + ": unknown key="
                    + left.iterator().next() + ": expected the keys of the built-in " + RESOURCE);
        }
        return new HostCosts(properties.getProperty("source", name), general, links);
    }

    private static double number(Properties properties, String key, String name, Set<String> left) {
        left.remove(key);
        String text = properties.getProperty(key);
        if (text == null) {
            throw new IllegalArgumentException(name + ": key=" + key + " is missing: every constant has to be given");
        }
        try {
            double value = Double.parseDouble(text.trim());
            if (value >= 0 && !Double.isInfinite(value)) {
                return value;
            }
        } catch (NumberFormatException e) {
            throw refused(name, key, text, e);
        }
        throw refused(name, key, text, null);
    }

    private static IllegalArgumentException refused(String name, String key, String text, Exception cause) {
        return new IllegalArgumentException(name + ": " + key + "=" + text + ": expected a number from 0 up", cause);
    }

    /** Where the numbers come from. */
    public String source() {
        return source;
    }

    /** The cost of a hand-over. */
    public LinkCost link(TransportKind transport, Algorithm algorithm, Protocol protocol) {
        return links[index(transport, algorithm, protocol)];
    }

    /** This table with other rows; for calibration. */
    HostCosts with(String newSource, Map<String, LinkCost> rows) {
        LinkCost[] changed = links.clone();
        for (TransportKind transport : TransportKind.values()) {
            for (Algorithm algorithm : Algorithm.values()) {
                for (Protocol protocol : Protocol.values()) {
                    LinkCost row = rows.get(key(transport, algorithm, protocol));
                    if (row != null) {
                        changed[index(transport, algorithm, protocol)] = row;
                    }
                }
            }
        }
        return new HostCosts(newSource, general, changed);
    }

    double get(General constant) {
        return general[constant.ordinal()];
    }

    int bytes(General constant) {
        return (int) Math.min(Integer.MAX_VALUE, general[constant.ordinal()]);
    }

    /** The table as text in the format that {@link #read} takes. */
    public String toText() {
        StringBuilder text = new StringBuilder("source=")
                .append(source.replace("\\", "\\\\"))
                .append('\n');
        for (General constant : General.values()) {
            text.append(constant.key).append('=').append(get(constant)).append('\n');
        }
        Map<String, LinkCost> sorted = new TreeMap<>();
        for (TransportKind transport : TransportKind.values()) {
            for (Algorithm algorithm : Algorithm.values()) {
                for (Protocol protocol : Protocol.values()) {
                    sorted.put(key(transport, algorithm, protocol), link(transport, algorithm, protocol));
                }
            }
        }
        sorted.forEach((key, cost) -> text.append(key)
                .append(".hop_us=")
                .append(cost.hopMicros())
                .append('\n')
                .append(key)
                .append(".ns_per_byte=")
                .append(cost.nanosPerByte())
                .append('\n'));
        return text.toString();
    }

    static String key(TransportKind transport, Algorithm algorithm, Protocol protocol) {
        return transport.label() + "." + algorithm.label() + "." + protocol.label();
    }

    private static int linkCount() {
        return TransportKind.values().length * Algorithm.values().length * Protocol.values().length;
    }

    private static int index(TransportKind transport, Algorithm algorithm, Protocol protocol) {
        return (transport.ordinal() * Algorithm.values().length + algorithm.ordinal()) * Protocol.values().length
                + protocol.ordinal();
    }
}
