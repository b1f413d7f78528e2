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
 * The measured constants of the host backend, one table with its source. The format is that of the resource
 * {@code host-costs.properties}, which explains every key.
 */
public final class HostCosts {

    static final String RESOURCE = "host-costs.properties";

    /** The key of {@link #source}. */
    public static final String SOURCE = "source";
    /** How keys of hop times end. */
    public static final String HOP = ".hop_us";
    /** How keys of times per byte end. */
    public static final String PER_BYTE = ".ns_per_byte";

    /** The constants that do not depend on transport, algorithm and protocol. */
    public enum General {
        /** Fixed time of an operation. */
        OPERATION_US("operation_us"),
        /** Fixed time of every further channel. */
        CHANNEL_US("channel_us"),
        /** Handling one step. */
        STEP_US("step_us"),
        /** What a hop costs more when ranks are time-sliced. */
        OVERSUBSCRIBED_HOP_US("oversubscribed_hop_us"),
        /** What a byte of a direct operation costs more then. */
        OVERSUBSCRIBED_DIRECT_FACTOR("oversubscribed_direct_factor"),
        /** The largest step. */
        CHUNK_BYTES("chunk_bytes"),
        /** The largest step when ranks are time-sliced. */
        OVERSUBSCRIBED_CHUNK_BYTES("oversubscribed_chunk_bytes"),
        /** The largest step where a network joins ranks that have a core each. */
        NET_CHUNK_BYTES("net_chunk_bytes"),
        /** From this size on shared buffers are used in place. */
        ZERO_COPY_MIN_BYTES("zero_copy_min_bytes"),
        /** Beyond this size data is not staged to all peers at once. */
        DIRECT_MAX_BYTES("direct_max_bytes"),
        /** The same when ranks are time-sliced. */
        OVERSUBSCRIBED_DIRECT_MAX_BYTES("oversubscribed_direct_max_bytes"),
        /** The same between two ranks over a network, which send zero-copy. */
        ZERO_COPY_SEND_DIRECT_MAX_BYTES("zero_copy_send_direct_max_bytes");

        private final String key;

        General(String key) {
            this.key = key;
        }

        /** The name in the file. */
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

    /** The table that the library brings. */
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
     * The table that the settings name a file of, or the one that the library brings.
     *
     * @throws IllegalArgumentException if the file cannot be read, if a key is missing or unknown, or a value is no number
     *     from 0 up
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
     * @param in the text; not closed
     * @param name what to call it in errors
     * @throws IllegalArgumentException if a key is missing or unknown, or a value is no number from 0 up
     */
    public static HostCosts read(Reader in, String name) throws IOException {
        return new HostCostsReader(in, name).read();
    }

    /** Where the numbers come from. */
    public String source() {
        return source;
    }

    /** The cost of a hop. */
    public LinkCost link(TransportKind transport, Algorithm algorithm, Protocol protocol) {
        return links[index(transport, algorithm, protocol)];
    }

    /** This table with other rows, named as in the file without the last part; for calibration. */
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

    /** This table with another value of one constant, from 0 up. */
    public HostCosts with(General constant, double value) {
        if (!(value >= 0) || Double.isInfinite(value)) {
            throw new IllegalArgumentException(constant.key + "=" + value + ": expected a number from 0 up");
        }
        double[] changed = general.clone();
        changed[constant.ordinal()] = value;
        return new HostCosts(source, changed, links);
    }

    /** A short text that differs when constants differ, wherever they come from. */
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

    /** The value of a constant. */
    public double get(General constant) {
        return general[constant.ordinal()];
    }

    int bytes(General constant) {
        return (int) Math.min(Integer.MAX_VALUE, general[constant.ordinal()]);
    }

    /**
     * The transports that have rows. Verbs and plug-ins are predicted as sockets are: their costs are those of adapters, and have
     * been measured on none.
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

    /** A row's name in the file, without the last part. */
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
