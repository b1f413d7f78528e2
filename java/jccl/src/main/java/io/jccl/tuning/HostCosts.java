package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.config.AlgorithmSettings;
import io.jccl.config.Settings;
import io.jccl.internal.Resources;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * The measured constants of the host backend in one table with its source. The format is that of the resource
 * {@code host-costs.properties}, which explains every key.
 */
public final class HostCosts {

    static final String RESOURCE = "host-costs.properties";

    /** The key of {@link #source}. */
    public static final String SOURCE = "source";
    /** Suffix of the keys of hop times. */
    public static final String HOP = ".hop_us";
    /** Suffix of the keys of times per byte. */
    public static final String PER_BYTE = ".ns_per_byte";

    /** The constants that do not depend on transport, algorithm and protocol. */
    public enum General {
        /** Fixed time of an operation. */
        OPERATION_US("operation_us"),
        /** Fixed time of every further channel. */
        CHANNEL_US("channel_us"),
        /** Time for handling one step. */
        STEP_US("step_us"),
        /** Additional time of a hop for each rank on a core, if ranks are time-sliced. */
        OVERSUBSCRIBED_HOP_US("oversubscribed_hop_us"),
        /** Factor of the time per byte of most direct operations if ranks are time-sliced. */
        OVERSUBSCRIBED_DIRECT_FACTOR("oversubscribed_direct_factor"),
        /** Largest step in bytes on one host if each rank has a core. */
        CHUNK_BYTES("chunk_bytes"),
        /** Largest step in bytes if ranks are time-sliced. */
        OVERSUBSCRIBED_CHUNK_BYTES("oversubscribed_chunk_bytes"),
        /** Largest step in bytes between hosts if each rank has a core. */
        NET_CHUNK_BYTES("net_chunk_bytes"),
        /** Smallest size at which shared buffers are used in place. */
        ZERO_COPY_MIN_BYTES("zero_copy_min_bytes"),
        /** Largest size of data that is staged to all peers at once. */
        DIRECT_MAX_BYTES("direct_max_bytes"),
        /**
         * Largest size of data that is staged to all peers at once if ranks are time-sliced; not for a broadcast or
         * reduce.
         */
        OVERSUBSCRIBED_DIRECT_MAX_BYTES("oversubscribed_direct_max_bytes"),
        /** Largest size of a direct all-reduce between two ranks over a network, which sends zero-copy. */
        ZERO_COPY_SEND_DIRECT_MAX_BYTES("zero_copy_send_direct_max_bytes");

        private final String key;

        General(String key) {
            this.key = key;
        }

        /** Returns the name of the constant in the file. */
        public String key() {
            return key;
        }
    }

    private final String source;
    private final double[] general;
    private final LinkCost[] links;

    HostCosts(String source, double[] general, LinkCost[] links) {
        this.source = source;
        this.general = general;
        this.links = links;
    }

    /** Returns the built-in table. */
    public static HostCosts builtIn() {
        try (InputStream in = Resources.open(HostCosts.class.getResource(RESOURCE))) {
            if (in == null) {
                throw new IllegalStateException("resource=" + RESOURCE + " is missing from the library: rebuild it");
            }
            return read(new InputStreamReader(in, StandardCharsets.UTF_8), RESOURCE);
        } catch (IOException e) {
            throw new UncheckedIOException("resource=" + RESOURCE + " cannot be read", e);
        }
    }

    /**
     * Returns the table from the file that the settings name, or the built-in one.
     *
     * @throws IllegalArgumentException if the file cannot be read, a key is missing or unknown, or a value is not a
     *     number from 0 up
     */
    public static HostCosts of(Settings settings) {
        Optional<Path> file = settings.get(AlgorithmSettings.TUNING_PROFILE);
        return file.isPresent() ? read(file.get()) : builtIn();
    }

    private static HostCosts read(Path file) {
        String name = AlgorithmSettings.TUNING_PROFILE.name() + "=" + file;
        try (Reader in = Files.newBufferedReader(file)) {
            return read(in, name);
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    name + ": cannot be read (" + e + "): expected a file that `jccl tune -o FILE` wrote", e);
        }
    }

    /**
     * Reads a table.
     *
     * @param in the text; it is not closed
     * @param name the name of the table in error messages
     * @throws IllegalArgumentException if a key is missing or unknown, or a value is not a number from 0 up
     */
    public static HostCosts read(Reader in, String name) throws IOException {
        return new HostCostsReader(in, name).read();
    }

    /** Returns the origin of the numbers. */
    public String source() {
        return source;
    }

    /** Returns the cost of a hop. */
    public LinkCost link(TransportKind transport, Algorithm algorithm, Protocol protocol) {
        return links[index(transport, algorithm, protocol)];
    }

    /** Returns this table with other rows, for calibration. Rows are named as in the file, without the last part. */
    public HostCosts with(String newSource, Map<String, LinkCost> rows) {
        LinkCost[] changed = links.clone();
        for (Link link : links()) {
            LinkCost row = rows.get(link.key());
            if (row != null) {
                changed[link.index()] = row;
            }
        }
        return new HostCosts(newSource, general, changed);
    }

    /** Returns this table with another value of one constant, from 0 up. */
    public HostCosts with(General constant, double value) {
        if (!(value >= 0) || Double.isInfinite(value)) {
            throw new IllegalArgumentException(constant.key + "=" + value + ": expected a number from 0 up");
        }
        double[] changed = general.clone();
        changed[constant.ordinal()] = value;
        return new HostCosts(source, changed, links);
    }

    /** Returns a short text that differs if constants differ, and does not depend on {@link #source}. */
    public String fingerprint() {
        CRC32C checksum = new CRC32C();
        ByteBuffer numbers =
                ByteBuffer.allocate(Double.BYTES * (general.length + links.length * (1 + LinkCost.SIZES.size())));
        for (double constant : general) {
            numbers.putDouble(constant);
        }
        for (LinkCost link : links) {
            numbers.putDouble(link.hopMicros());
            for (double nanos : link.nanosPerByte()) {
                numbers.putDouble(nanos);
            }
        }
        checksum.update(numbers.flip());
        return HexFormat.of().toHexDigits((int) checksum.getValue());
    }

    /** Returns the value of a constant. */
    public double get(General constant) {
        return general[constant.ordinal()];
    }

    int bytes(General constant) {
        return (int) Math.min(Integer.MAX_VALUE, general[constant.ordinal()]);
    }

    /**
     * The transports that have rows. Verbs and plug-ins are predicted like sockets: their costs depend on the adapter
     * and have not been measured on any.
     */
    public static final List<TransportKind> MEASURED =
            List.of(TransportKind.P2P, TransportKind.SHM, TransportKind.SOCKET);

    /** A combination that has a row. */
    record Link(TransportKind transport, Algorithm algorithm, Protocol protocol) {

        String key() {
            return HostCosts.key(transport, algorithm, protocol);
        }

        int index() {
            return HostCosts.index(transport, algorithm, protocol);
        }
    }

    /** The algorithms of ranks on the host. */
    public static final List<Algorithm> ALGORITHMS = List.of(Algorithm.RING, Algorithm.TREE, Algorithm.DIRECT);

    static List<Link> links() {
        List<Link> links = new ArrayList<>();
        for (TransportKind transport : MEASURED) {
            for (Algorithm algorithm : ALGORITHMS) {
                for (Protocol protocol : Protocol.values()) {
                    links.add(new Link(transport, algorithm, protocol));
                }
            }
        }
        return links;
    }

    /** Returns the name of a row in the file, without the last part. */
    public static String key(TransportKind transport, Algorithm algorithm, Protocol protocol) {
        return transport.label() + "." + algorithm.label() + "." + protocol.label();
    }

    static int linkCount() {
        return MEASURED.size() * ALGORITHMS.size() * Protocol.values().length;
    }

    static int index(TransportKind transport, Algorithm algorithm, Protocol protocol) {
        int row = MEASURED.indexOf(transport.isNetwork() ? TransportKind.SOCKET : transport);
        return (row * ALGORITHMS.size() + algorithm.ordinal()) * Protocol.values().length + protocol.ordinal();
    }
}
