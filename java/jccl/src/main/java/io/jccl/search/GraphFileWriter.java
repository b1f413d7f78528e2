package io.jccl.search;

import io.jccl.topology.Node;
import io.jccl.topology.SharedGpus;
import io.jccl.topology.Topology;
import io.jccl.topology.TopologyException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;

/** Writes channels over GPUs as text that {@link GraphFile} reads back as equal channels, and that NCCL reads too. */
public final class GraphFileWriter {

    private final StringBuilder text = new StringBuilder();
    /** Device numbers by rank; contains only the first of several ranks on one GPU. */
    private final Map<Integer, Integer> devOfRank = new HashMap<>();

    private GraphFileWriter(Topology topology) {
        Topology distinct = SharedGpus.of(topology).distinct();
        for (int node : distinct.endpoints()) {
            if (!(distinct.node(node) instanceof Node.Gpu gpu) || gpu.dev() < 0) {
                throw new TopologyException(distinct.node(node).name()
                        + ": graphs are written of GPUs with a known dev; describe them in JCCL_TOPO_FILE");
            }
            devOfRank.put(gpu.rank(), gpu.dev());
        }
        if (new HashSet<>(devOfRank.values()).size() < devOfRank.size()) {
            throw new TopologyException(
                    "dev=" + devOfRank.values().stream().sorted().toList()
                            + ": expected different numbers of different GPUs; correct JCCL_TOPO_FILE");
        }
    }

    /**
     * Writes the channels of a host.
     *
     * @param topology the topology of the host on which they were searched
     * @throws TopologyException if the endpoint of a rank is not a GPU with a known number
     */
    public static String write(ChannelGraph rings, ChannelGraph trees, Topology topology) {
        GraphFileWriter writer = new GraphFileWriter(topology);
        writer.line(0, "<graphs version=\"" + GraphFile.VERSION + "\">");
        writer.write(0, rings);
        writer.write(1, trees);
        writer.line(0, "</graphs>");
        return writer.text.toString();
    }

    private void line(int depth, String line) {
        text.append("  ".repeat(depth)).append(line).append('\n');
    }

    private void write(int id, ChannelGraph graph) {
        line(
                1,
                String.format(
                        Locale.ROOT,
                        "<graph id=\"%d\" pattern=\"%d\" crossnic=\"%d\" nchannels=\"%d\" speedintra=\"%s\" speedinter=\"%s\""
                                + " latencyinter=\"0\" typeintra=\"%s\" typeinter=\"%s\" samechannels=\"%d\">",
                        id,
                        GraphFile.NUMBERS.get(graph.pattern()),
                        graph.crossNic() ? 1 : 0,
                        graph.orders().size(),
                        graph.bwIntra(),
                        graph.bwInter(),
                        graph.typeIntra(),
                        graph.typeInter(),
                        new HashSet<>(graph.orders()).size() <= 1 ? 1 : 0));
        for (int channel = 0; channel < graph.orders().size(); channel++) {
            line(2, "<channel>");
            if (!graph.rails().isEmpty()) {
                device("net", graph.rails().get(channel).in());
            }
            graph.orders().get(channel).stream()
                    .filter(devOfRank::containsKey)
                    .forEach(rank -> device("gpu", devOfRank.get(rank)));
            if (!graph.rails().isEmpty()) {
                device("net", graph.rails().get(channel).out());
            }
            line(2, "</channel>");
        }
        line(1, "</graph>");
    }

    private void device(String tag, int dev) {
        line(3, "<" + tag + " dev=\"0x" + Integer.toHexString(dev) + "\"/>");
    }
}
