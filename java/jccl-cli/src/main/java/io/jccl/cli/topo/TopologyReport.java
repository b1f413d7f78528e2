package io.jccl.cli.topo;

import io.jccl.Collective;
import io.jccl.planning.Plan;
import io.jccl.search.ChannelGraph;
import io.jccl.topology.PathType;
import io.jccl.topology.XmlElement;
import io.jccl.tuning.Choice;
import io.jccl.tuning.OperationCost;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;

/**
 * All facts about a host and all decisions for it, as plain values to be shown. Names and units are those of the
 * {@code jccl topo} contract; bandwidths are in GB/s.
 *
 * @param source where the description comes from: a file, or this host
 * @param version version of the library
 * @param description the host as a description that can be written as XML
 * @param nodes the graph's nodes with their links
 * @param paths from every rank's endpoint to all endpoints, networks and CPUs, and from networks to endpoints
 * @param graphs the channels found, by name: {@code ring}, {@code tree}, and {@code chain} if there is one; empty if no
 *     rank is on the host
 * @param plan the channels over all hosts; absent if no rank is on the host
 * @param tuning the choice for each collective and size if ranks are processes; empty if no rank is on the host
 * @param tuningOfThreads the choices if ranks are threads of one process that work in place on each other's memory of
 *     GPUs; empty if they cannot
 * @param sharedGpus ranks of each GPU that several ranks share, ascending, by the GPU's bus id
 * @param notes remarks for the reader, as text
 */
public record TopologyReport(
        String source,
        String version,
        XmlElement description,
        List<NodeRow> nodes,
        List<PathRow> paths,
        Map<String, GraphRow> graphs,
        Optional<Plan> plan,
        List<TuningRow> tuning,
        List<TuningRow> tuningOfThreads,
        Map<String, List<Integer>> sharedGpus,
        List<String> notes) {

    /**
     * A node.
     *
     * @param name its name, such as {@code HOST/0}
     * @param type its type
     * @param links the links from it, the widest first
     */
    public record NodeRow(String name, String type, List<LinkRow> links) {}

    /**
     * A link.
     *
     * @param type its type
     * @param bw its bandwidth in GB/s
     * @param to name of the node to which it leads
     */
    public record LinkRow(String type, double bw, String to) {}

    /**
     * A path.
     *
     * @param from name of the node at which it starts
     * @param to name of the node at which it ends
     * @param type how far apart the nodes are
     * @param bw bandwidth in GB/s of its narrowest link, or 0 if there is no path
     * @param hops number of links
     * @param via names of the nodes after the first, ending with {@code to}
     * @param apart why kernels of two different GPUs do not use each other's memory; empty if they do, and for other
     *     nodes
     */
    public record PathRow(
            String from, String to, PathType type, double bw, int hops, List<String> via, Optional<String> apart) {

        /** Returns true if the path connects the GPUs of two ranks. */
        public boolean isBetweenGpus() {
            return !from.equals(to) && from.startsWith("GPU/") && to.startsWith("GPU/");
        }
    }

    /**
     * Channels that were found.
     *
     * @param graph the channels
     * @param searchMillis duration of the search in ms
     */
    public record GraphRow(ChannelGraph graph, double searchMillis) {}

    /**
     * A choice.
     *
     * @param collective the operation
     * @param bytes its size
     * @param choice how it is executed
     * @param timeMicros the predicted time in µs
     * @param boundMicros the least time in µs that the links between GPUs allow; empty on host memory
     */
    public record TuningRow(
            Collective collective, long bytes, Choice choice, double timeMicros, OptionalDouble boundMicros) {

        /** Returns true if kernels read and write the buffers of peers, whatever memory the buffers are in. */
        boolean isInPlace() {
            return boundMicros.isPresent() && choice.tryZeroCopy() && !OperationCost.isPairwise(collective);
        }

        /** Returns true if receivers read messages out of the symmetric memory of their senders. */
        boolean readsSymmetric() {
            return boundMicros.isPresent() && choice.tryZeroCopy() && OperationCost.isPairwise(collective);
        }
    }

    /** Copies the collections. */
    public TopologyReport {
        nodes = List.copyOf(nodes);
        paths = List.copyOf(paths);
        tuning = List.copyOf(tuning);
        tuningOfThreads = List.copyOf(tuningOfThreads);
        sharedGpus = Collections.unmodifiableMap(new TreeMap<>(sharedGpus));
        notes = List.copyOf(notes);
    }
}
