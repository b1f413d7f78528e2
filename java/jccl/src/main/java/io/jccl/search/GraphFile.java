package io.jccl.search;

import io.jccl.config.LoggedOnce;
import io.jccl.config.Origin;
import io.jccl.config.Settings;
import io.jccl.config.TopologySettings;
import io.jccl.topology.TopologyException;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.XmlElement;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Reads the channels over GPUs from a file ({@code JCCL_GRAPH_FILE}) in NCCL's format. Graph 0 is the ring, graph 1 the
 * tree. Further graphs are for hardware that JCCL uses without separate channels, and are ignored. Channels that the
 * file omits are searched. Immutable.
 */
public final class GraphFile {

    static final String VERSION = "1";

    /** NCCL's number of each pattern, as in the attribute {@code pattern}. */
    static final Map<Pattern, Integer> NUMBERS =
            Map.of(Pattern.BALANCED_TREE, 1, Pattern.SPLIT_TREE, 2, Pattern.TREE, 3, Pattern.RING, 4);

    private static final int RING = 0;
    private static final int TREE = 1;

    private static final int DIGEST_BYTES = 8;

    private final String source;
    private final boolean ofNccl; // if true, a file that does not fit the host only causes a warning
    private final XmlElement root;
    private final String digest;

    private GraphFile(String source, boolean ofNccl, XmlElement root, String digest) {
        this.source = source;
        this.ofNccl = ofNccl;
        this.root = root;
        this.digest = digest;
    }

    /**
     * Reads the file that the settings name. If an NCCL variable names the file and it is not usable, logs a warning
     * and returns empty.
     *
     * @return empty if the settings name no file
     * @throws TopologyException if the file does not have this format and a JCCL setting names it
     */
    public static Optional<GraphFile> of(Settings settings) {
        Origin origin = settings.origin(TopologySettings.GRAPH_FILE);
        try {
            return settings.get(TopologySettings.GRAPH_FILE).map(file -> read(file, origin));
        } catch (TopologyException e) {
            if (!origin.isOfNccl()) {
                throw e;
            }
            warnIgnored(e);
            return Optional.empty();
        }
    }

    private static void warnIgnored(TopologyException e) {
        LoggedOnce.warn(GraphFile.class, e.getMessage() + ". The file is ignored, and channels are searched instead");
    }

    private static GraphFile read(Path file, Origin origin) {
        String source = origin.name() + "=\"" + file + "\"";
        try (InputStream in = Files.newInputStream(file)) {
            return read(in.readNBytes(TopologyXmlReader.MAX_BYTES + 1), source, origin.isOfNccl());
        } catch (IOException e) {
            throw new TopologyException(source + ": cannot be read (" + e + "); name a file of graphs, or unset it", e);
        }
    }

    /**
     * Reads a text.
     *
     * @param source the name of the text in error messages
     */
    public static GraphFile read(byte[] text, String source) {
        return read(text, source, false);
    }

    private static GraphFile read(byte[] text, String source, boolean ofNccl) {
        try {
            XmlElement root = TopologyXmlReader.readGraphs(text);
            if (!root.text("version").equals(Optional.of(VERSION))) {
                throw new TopologyException(root.where() + " version=\""
                        + XmlElement.printable(root.text("version").orElse("")) + "\": expected " + VERSION);
            }
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(text);
            return new GraphFile(source, ofNccl, root, HexFormat.of().formatHex(hash, 0, DIGEST_BYTES));
        } catch (TopologyException e) {
            throw refused(source, e);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("a Java runtime without SHA-256", e);
        }
    }

    private static TopologyException refused(String source, TopologyException e) {
        return new TopologyException(
                source + " " + e.getMessage() + "; correct the file, or unset the setting to have channels searched",
                e);
    }

    /** Returns the setting and the path of the file. */
    public String source() {
        return source;
    }

    /** Returns a digest that differs between files of different content. */
    public String digest() {
        return digest;
    }

    /** Returns the rings of a host's GPUs; empty if the file contains none. */
    public Optional<GivenChannels> rings(ChannelSearch host, SearchOptions.CrossNic crossNic) {
        return channels(RING, List.of(Pattern.RING), host, crossNic);
    }

    /** Returns the trees of a host's GPUs; empty if the file contains none. */
    public Optional<GivenChannels> trees(ChannelSearch host, SearchOptions.CrossNic crossNic) {
        return channels(TREE, List.of(Pattern.BALANCED_TREE, Pattern.SPLIT_TREE, Pattern.TREE), host, crossNic);
    }

    private Optional<GivenChannels> channels(
            int id, List<Pattern> patterns, ChannelSearch host, SearchOptions.CrossNic crossNic) {
        try {
            XmlElement found = null;
            for (XmlElement graph : root.unknown()) {
                GraphElement element = new GraphElement(graph);
                element.requireTag("graph");
                if (element.integer("id", 0, Integer.MAX_VALUE) == id) {
                    if (found != null) {
                        throw new TopologyException(graph.where() + " id=\"" + id + "\": given in line=" + found.line()
                                + " already; expected one graph of each id");
                    }
                    found = graph;
                }
            }
            return found == null ? Optional.empty() : new GivenRoutes(found, patterns, host, crossNic).channels();
        } catch (TopologyException e) {
            TopologyException refused = refused(source, e);
            if (!ofNccl) {
                throw refused;
            }
            warnIgnored(refused);
            return Optional.empty();
        }
    }
}
