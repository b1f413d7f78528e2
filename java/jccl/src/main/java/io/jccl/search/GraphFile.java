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
 * Channels over GPUs that a file gives ({@code JCCL_GRAPH_FILE}), in the form in which NCCL writes and reads them: graph 0 is
 * the ring, graph 1 the tree, and further ones are for hardware that JCCL drives without channels of their own. What the
 * file leaves out is searched. Immutable.
 */
public final class GraphFile {

    static final String VERSION = "1";

    /** By pattern: the number of its graph, and what the file calls it. */
    static final Map<Pattern, Integer> NUMBERS =
            Map.of(Pattern.BALANCED_TREE, 1, Pattern.SPLIT_TREE, 2, Pattern.TREE, 3, Pattern.RING, 4);

    private static final int RING = 0;
    private static final int TREE = 1;

    private static final int DIGEST_BYTES = 8;

    private final String source;
    private final boolean ofNccl; // what does not fit the host is a warning
    private final XmlElement root;
    private final String digest;

    private GraphFile(String source, boolean ofNccl, XmlElement root, String digest) {
        this.source = source;
        this.ofNccl = ofNccl;
        this.root = root;
        this.digest = digest;
    }

    /**
     * The file that the settings name, if they name one. A file under NCCL's name that is of no use is a warning.
     *
     * @throws TopologyException if it is not of this form, and stands under JCCL's name
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

    /** Reads a file. */
    private static GraphFile read(Path file, Origin origin) {
        String source = origin.name() + "=\"" + file + "\"";
        try (InputStream in = Files.newInputStream(file)) {
            return read(in.readNBytes(TopologyXmlReader.MAX_BYTES + 1), source, origin.isOfNccl());
        } catch (IOException e) {
            throw new TopologyException(source + ": cannot be read (" + e + "); name a file of graphs, or unset it", e);
        }
    }

    /**
     * Reads text.
     *
     * @param source what to call it in errors
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

    /** Where it was read. */
    public String source() {
        return source;
    }

    /** Differs between files of different content. */
    public String digest() {
        return digest;
    }

    /** The rings of a host's GPUs; empty where the file gives none. */
    public Optional<GivenChannels> rings(ChannelSearch host, SearchOptions.CrossNic crossNic) {
        return channels(RING, List.of(Pattern.RING), host, crossNic);
    }

    /** The trees likewise. */
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
