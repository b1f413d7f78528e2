package io.jccl.tuning;

import io.jccl.Collective;
import io.jccl.TransportKind;
import io.jccl.plan.Plan;
import io.jccl.plan.PlanOptions;
import io.jccl.plan.RankChannels;
import io.jccl.search.ChannelGraph;
import io.jccl.search.ChannelSearch;
import io.jccl.search.Pattern;
import io.jccl.search.SearchOptions;
import io.jccl.topology.GraphBuilder;
import io.jccl.topology.Node;
import io.jccl.topology.NodePath;
import io.jccl.topology.NodePaths;
import io.jccl.topology.NodeType;
import io.jccl.topology.PathPolicy;
import io.jccl.topology.SharedGpus;
import io.jccl.topology.Topology;
import io.jccl.topology.TopologyException;
import io.jccl.topology.Trimmer;
import io.jccl.topology.XmlElement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/** Works out the {@link TopologyReport} of a machine, as initialisation would decide. One reporter makes one report. */
public final class TopologyReporter {

    private static final long SMALLEST_BYTES = 8;
    private static final long LARGEST_BYTES = 256L << 20;

    private final Request request;
    private final LongSupplier nanoClock;
    private final List<String> notes = new ArrayList<>();

    /**
     * What to report.
     *
     * @param source where the description comes from
     * @param version of the library
     * @param description the machine
     * @param machines how many such machines
     * @param localOnly whether networks play no part although there are several machines
     * @param pathPolicy what paths may use
     * @param cores cores of one machine
     * @param slots payload bytes of one slot per protocol
     * @param costs the constants to predict with
     * @param overrides what the settings say
     * @param planOptions what the settings say about channels
     * @param crossNic whether rings may change network devices
     */
    public record Request(
            String source,
            String version,
            XmlElement description,
            int machines,
            boolean localOnly,
            PathPolicy pathPolicy,
            int cores,
            CommunicatorShape.SlotBytes slots,
            HostCosts costs,
            TuningOverrides overrides,
            PlanOptions planOptions,
            SearchOptions.CrossNic crossNic) {

        /** Refuses counts below one. */
        public Request {
            if (machines < 1 || cores < 1) {
                throw new IllegalArgumentException(
                        "machines=" + machines + " cores=" + cores + ": expected at least 1 of each");
            }
        }

        private boolean networks() {
            return machines > 1 && !localOnly;
        }
    }

    private TopologyReporter(Request request, LongSupplier nanoClock) {
        this.request = request;
        this.nanoClock = nanoClock;
    }

    /**
     * Makes a report.
     *
     * @param nanoClock what to time the searches with
     * @throws TopologyException if the description is contradictory
     */
    public static TopologyReport report(Request request, LongSupplier nanoClock) {
        return new TopologyReporter(request, nanoClock).report();
    }

    /**
     * Makes a report for each of several machines that need not be alike, with one plan over them in this order. What is not
     * about a machine alone is taken from the first request.
     *
     * @param requests one for each machine, each saying how many they are
     * @param nanoClock what to time the searches with
     * @throws TopologyException if a description is contradictory, or no rank lives on a machine
     */
    public static List<TopologyReport> reportUnlike(List<Request> requests, LongSupplier nanoClock) {
        List<TopologyReporter> reporters = requests.stream()
                .map(request -> new TopologyReporter(request, nanoClock))
                .toList();
        List<Surveyed> machines =
                reporters.stream().map(TopologyReporter::survey).toList();
        for (int index = 0; index < machines.size(); index++) {
            if (machines.get(index).graphs.isEmpty()) {
                throw new TopologyException("machine=" + index + " source=\"" + requests.get(index).source
                        + "\": no rank lives on it; give its gpu elements ranks, or add host elements");
            }
        }
        TopologyReporter first = reporters.get(0);
        Plan plan = first.plan(machines);
        List<TopologyReport.TuningRow> tuning = first.tuning(plan, machines);
        return IntStream.range(0, machines.size())
                .mapToObj(index -> reporters.get(index).report(machines.get(index), index, Optional.of(plan), tuning))
                .toList();
    }

    /**
     * What the cost model would know of the communicator of all ranks of the request, which are at least one.
     *
     * @throws TopologyException if the description is contradictory
     */
    public static CommunicatorShape shape(Request request) {
        TopologyReporter reporter = new TopologyReporter(request, System::nanoTime);
        Surveyed machine = reporter.survey();
        return reporter.shape(reporter.plan(Collections.nCopies(request.machines, machine)), List.of(machine));
    }

    private NodePaths trimmed(NodePaths all) {
        int first =
                Topology.rankOf(all.topology().node(all.topology().endpoints().get(0)));
        return NodePaths.compute(Trimmer.trim(all, first, request.networks()), request.pathPolicy);
    }

    private Map<String, TopologyReport.GraphRow> graphs(NodePaths paths) {
        Map<String, TopologyReport.GraphRow> graphs = new LinkedHashMap<>();
        ChannelSearch search = new ChannelSearch(
                paths,
                SearchOptions.forMachine(paths.topology(), request.cores, request.networks())
                        .withCrossNic(request.crossNic));
        TopologyReport.GraphRow ring = timed(() -> search.search(Pattern.RING));
        graphs.put("ring", ring);
        graphs.put("tree", timed(() -> search.searchTree(ring.graph())));
        return graphs;
    }

    private TopologyReport report() {
        Surveyed machine = survey();
        Optional<Plan> plan = Optional.empty();
        List<TopologyReport.TuningRow> tuning = List.of();
        if (machine.graphs.isEmpty()) {
            notes.add("no rank lives on this machine: no channels, no plan");
        } else {
            Plan made = plan(Collections.nCopies(request.machines, machine));
            plan = Optional.of(made);
            tuning = tuning(made, List.of(machine));
        }
        return report(machine, 0, plan, tuning);
    }

    private TopologyReport report(
            Surveyed machine, int index, Optional<Plan> plan, List<TopologyReport.TuningRow> tuning) {
        plan.ifPresent(made -> notes.addAll(0, NetworkLimits.notes(made, index, machine.topology())));
        return new TopologyReport(
                request.source,
                request.version,
                request.description,
                nodeRows(machine.topology()),
                pathRows(machine.paths),
                Collections.unmodifiableMap(machine.graphs),
                plan,
                tuning,
                SharedGpus.of(machine.topology()).ranks(),
                notes);
    }

    /** What is known of a machine alone; without graphs if no rank lives on it. */
    private record Surveyed(NodePaths paths, Map<String, TopologyReport.GraphRow> graphs) {

        Topology topology() {
            return paths.topology();
        }

        ChannelGraph graph(String name) {
            return graphs.get(name).graph();
        }
    }

    private Surveyed survey() {
        NodePaths paths = NodePaths.compute(GraphBuilder.build(request.description), request.pathPolicy);
        if (paths.topology().endpoints().isEmpty()) {
            return new Surveyed(paths, Map.of());
        }
        NodePaths trimmed = trimmed(paths);
        return new Surveyed(trimmed, graphs(trimmed));
    }

    private TopologyReport.GraphRow timed(Supplier<ChannelGraph> search) {
        long start = nanoClock.getAsLong();
        ChannelGraph graph = search.get();
        return new TopologyReport.GraphRow(graph, (nanoClock.getAsLong() - start) / 1e6);
    }

    private Plan plan(List<Surveyed> machines) {
        return Plan.build(PlanInput.together(machines.stream().map(this::found).toList()), request.planOptions);
    }

    private RankChannels found(Surveyed machine) {
        Topology topology = machine.topology();
        int first = Topology.rankOf(topology.node(topology.endpoints().get(0)));
        return PlanInput.of(first, request.source, topology, machine.graph("ring"), machine.graph("tree"));
    }

    private List<TopologyReport.TuningRow> tuning(Plan plan, List<Surveyed> machines) {
        TimeModel model = PlannedModel.of(
                plan,
                MachineTraits.together(machines.stream()
                        .map(machine -> MachineTraits.of(machine.topology()))
                        .toList()),
                request.slots,
                request.overrides,
                request.costs,
                () -> shape(plan, machines));
        ChoiceTable table = ChoiceTable.build(model, request.overrides);
        notes.addAll(table.notes());
        List<TopologyReport.TuningRow> rows = new ArrayList<>();
        for (Collective collective : Collective.values()) {
            long largest = collective == Collective.BARRIER ? SMALLEST_BYTES : LARGEST_BYTES;
            for (long bytes = SMALLEST_BYTES; bytes <= largest; bytes *= 4) {
                rows.add(new TopologyReport.TuningRow(
                        collective, bytes, table.choice(collective, bytes), table.predictedMicros(collective, bytes)));
            }
        }
        return rows;
    }

    /** Of unlike machines the fullest and the one with the slowest network bound the others. */
    private CommunicatorShape shape(Plan plan, List<Surveyed> machines) {
        return new CommunicatorShape(
                plan.size(),
                plan.machines().size(),
                machines.stream()
                        .mapToInt(machine -> machine.topology().endpoints().size())
                        .max()
                        .orElseThrow(),
                request.cores,
                plan.channels(),
                plan.treeDepth(0),
                TransportKind.SHM,
                machines.stream()
                        .map(machine -> machine.graph("ring"))
                        .mapToDouble(ring -> ring.bwInter() * ring.channels())
                        .min()
                        .orElseThrow(),
                request.slots);
    }

    private static List<TopologyReport.NodeRow> nodeRows(Topology topology) {
        List<TopologyReport.NodeRow> rows = new ArrayList<>();
        for (int i = 0; i < topology.size(); i++) {
            Node node = topology.node(i);
            List<TopologyReport.LinkRow> links = topology.links(i).stream()
                    .map(link -> new TopologyReport.LinkRow(
                            link.type().name(),
                            link.bandwidthGBps(),
                            topology.node(link.to()).name()))
                    .toList();
            rows.add(new TopologyReport.NodeRow(node.name(), node.type().name(), links));
        }
        return rows;
    }

    private static List<TopologyReport.PathRow> pathRows(NodePaths paths) {
        Topology topology = paths.topology();
        List<Integer> endpoints = topology.endpoints();
        List<Integer> nets = topology.indexesOf(NodeType.NET);
        List<Integer> targets = new ArrayList<>(endpoints);
        targets.addAll(nets);
        targets.addAll(topology.indexesOf(NodeType.CPU));
        List<TopologyReport.PathRow> rows = new ArrayList<>();
        for (int from : endpoints) {
            targets.forEach(to -> rows.add(pathRow(topology, paths.path(from, to))));
        }
        for (int from : nets) {
            endpoints.forEach(to -> rows.add(pathRow(topology, paths.path(from, to))));
        }
        return rows;
    }

    private static TopologyReport.PathRow pathRow(Topology topology, NodePath path) {
        return new TopologyReport.PathRow(
                topology.node(path.from()).name(),
                topology.node(path.to()).name(),
                path.type(),
                path.bandwidthGBps(),
                path.hops(),
                path.via().stream().map(node -> topology.node(node).name()).toList());
    }
}
