package io.jccl.cli.topo;

import io.jccl.Collective;
import io.jccl.TransportKind;
import io.jccl.nativelib.DeviceConfig;
import io.jccl.planning.CommunicatorPlan;
import io.jccl.planning.DeviceFacts;
import io.jccl.planning.MachineSurvey;
import io.jccl.planning.NetworkLimits;
import io.jccl.planning.Plan;
import io.jccl.planning.Planner;
import io.jccl.planning.PlanningOptions;
import io.jccl.planning.RankChannels;
import io.jccl.planning.Surveyor;
import io.jccl.planning.Surveyor.LocalSurvey;
import io.jccl.search.GraphFile;
import io.jccl.search.GraphFileWriter;
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
import io.jccl.topology.XmlElement;
import io.jccl.tuning.ChoiceTable;
import io.jccl.tuning.CommunicatorShape;
import io.jccl.tuning.HostTraits;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.LongSupplier;

/** Makes {@link TopologyReport}s of hosts and of the plan for communicators on them. */
public final class TopologyReporter {

    private static final long SMALLEST_BYTES = 8;
    private static final long LARGEST_BYTES = 256L << 20;

    private TopologyReporter() {}

    /**
     * A request for a report.
     *
     * @param source where the description comes from
     * @param version version of the library
     * @param description the host
     * @param hosts number of such hosts
     * @param localOnly true to ignore networks although there are several hosts
     * @param pathPolicy rules for what paths may use
     * @param crossNic whether rings may change network devices
     * @param graphs channels over GPUs to use instead of a search
     * @param cores number of processors that the ranks of one host share
     * @param local transport between ranks of one host
     * @param options settings of the plan
     */
    public record Request(
            String source,
            String version,
            XmlElement description,
            int hosts,
            boolean localOnly,
            PathPolicy pathPolicy,
            SearchOptions.CrossNic crossNic,
            Optional<GraphFile> graphs,
            int cores,
            TransportKind local,
            PlanningOptions options) {

        /** Refuses counts below one. */
        public Request {
            if (hosts < 1 || cores < 1) {
                throw new IllegalArgumentException(
                        "machines=" + hosts + " cores=" + cores + ": expected at least 1 of each");
            }
        }
    }

    /**
     * Makes a report.
     *
     * @param nanoClock clock that times the searches
     * @throws TopologyException if the description is contradictory
     */
    public static TopologyReport report(Request request, LongSupplier nanoClock) {
        Topology whole = GraphBuilder.build(request.description);
        if (whole.endpoints().isEmpty()) {
            return report(
                    request,
                    NodePaths.compute(whole, request.pathPolicy),
                    Map.of(),
                    Optional.empty(),
                    List.of(),
                    List.of(),
                    List.of("no rank is on this host: no channels, no plan"));
        }
        LocalSurvey host = survey(request, whole, nanoClock);
        CommunicatorPlan plan = plan(request, Collections.nCopies(request.hosts, host.survey()));
        return report(request, host, 0, plan, tuning(plan), tuningOfThreads(request, host), notes(plan));
    }

    /**
     * Makes a report for each of several hosts, which may differ, with one plan over them in this order. Facts that do
     * not belong to one host are taken from the first request.
     *
     * @param requests one for each host, each with the number of all hosts
     * @param nanoClock clock that times the searches
     * @throws TopologyException if a description is contradictory, or no rank is on a host
     */
    public static List<TopologyReport> reportUnlike(List<Request> requests, LongSupplier nanoClock) {
        List<LocalSurvey> hosts = new ArrayList<>();
        for (Request request : requests) {
            Topology whole = GraphBuilder.build(request.description);
            if (whole.endpoints().isEmpty()) {
                throw new TopologyException("host=" + hosts.size() + " source=\"" + request.source
                        + "\": no rank is on it; give its gpu elements ranks, or add host elements");
            }
            hosts.add(survey(request, whole, nanoClock));
        }
        CommunicatorPlan plan =
                plan(requests.get(0), hosts.stream().map(LocalSurvey::survey).toList());
        List<TopologyReport.TuningRow> tuning = tuning(plan);
        List<TopologyReport> reports = new ArrayList<>();
        for (int index = 0; index < hosts.size(); index++) {
            List<String> notes = index == 0 ? notes(plan) : List.of();
            reports.add(report(requests.get(index), hosts.get(index), index, plan, tuning, List.of(), notes));
        }
        return reports;
    }

    /**
     * Returns the shape, for the cost model, of the communicator of all ranks of the request; there must be at least
     * one rank.
     *
     * @throws TopologyException if the description is contradictory
     */
    public static CommunicatorShape shape(Request request) {
        LocalSurvey host = survey(request, GraphBuilder.build(request.description), System::nanoTime);
        return plan(request, Collections.nCopies(request.hosts, host.survey())).shape();
    }

    /**
     * Returns the channels of a host in the format of {@code JCCL_GRAPH_FILE}.
     *
     * @throws TopologyException if the description is contradictory, or not all ranks are on GPUs
     */
    public static String graphs(Request request) {
        Topology whole = GraphBuilder.build(request.description);
        if (whole.endpoints().isEmpty()) {
            throw new TopologyException(
                    "source=\"" + request.source + "\": no rank is on it; give its gpu elements ranks");
        }
        LocalSurvey host = survey(request, whole, System::nanoTime);
        RankChannels channels = host.survey().channels();
        return GraphFileWriter.write(
                channels.rings(), channels.trees(), host.paths().topology());
    }

    private static LocalSurvey survey(Request request, Topology whole, LongSupplier nanoClock) {
        int first = Topology.rankOf(whole.node(whole.endpoints().get(0)));
        boolean networks = request.hosts > 1 && !request.localOnly;
        Surveyor surveyor = new Surveyor(request.pathPolicy, request.crossNic, networks, request.graphs, nanoClock);
        return surveyor.survey(surveyor.paths(whole, first), first, request.source, request.cores);
    }

    private static CommunicatorPlan plan(Request request, List<MachineSurvey> hosts) {
        return Planner.plan(MachineSurvey.together(hosts), List.of(), request.local, request.options);
    }

    private static List<String> notes(CommunicatorPlan plan) {
        List<String> notes = new ArrayList<>(plan.notes());
        if (plan.host().gpu() && plan.host().size() > DeviceConfig.MAX_RANKS) {
            notes.add("ranks=" + plan.host().size() + ": more than the " + DeviceConfig.MAX_RANKS
                    + " ranks with GPUs that a communicator can have");
        }
        return notes;
    }

    private static List<TopologyReport.TuningRow> tuning(CommunicatorPlan plan) {
        return tuning(plan.choices(), plan.host().gpu());
    }

    /**
     * Returns the choices of ranks that are threads of one process; empty if these cannot work in place, because they
     * are on several hosts, have no GPUs, or do not all reach each other's memory.
     */
    private static List<TopologyReport.TuningRow> tuningOfThreads(Request request, LocalSurvey host) {
        HostTraits traits = host.survey().traits();
        if (request.hosts > 1
                || host.paths().topology().endpoints().size() == 1
                || !host.survey().channels().gpu()
                || traits.apart()) {
            return List.of();
        }
        List<MachineSurvey> ranks = MachineSurvey.together(List.of(host.survey()));
        CommunicatorPlan plan = Planner.plan(ranks, ranks, request.local, request.options);
        DeviceFacts facts = DeviceFacts.planned(plan.onDevices(), traits, true, request.options);
        return tuning(Planner.deviceChoices(plan, facts, request.options), true);
    }

    private static List<TopologyReport.TuningRow> tuning(ChoiceTable choices, boolean gpu) {
        List<TopologyReport.TuningRow> rows = new ArrayList<>();
        for (Collective collective : Collective.values()) {
            long largest = collective == Collective.BARRIER ? SMALLEST_BYTES : LARGEST_BYTES;
            for (long bytes = SMALLEST_BYTES; bytes <= largest; bytes *= 4) {
                rows.add(new TopologyReport.TuningRow(
                        collective,
                        bytes,
                        choices.choice(collective, bytes),
                        choices.predictedMicros(collective, bytes),
                        gpu ? OptionalDouble.of(choices.linkMicros(collective, bytes)) : OptionalDouble.empty()));
            }
        }
        return rows;
    }

    private static TopologyReport report(
            Request request,
            LocalSurvey host,
            int index,
            CommunicatorPlan plan,
            List<TopologyReport.TuningRow> tuning,
            List<TopologyReport.TuningRow> tuningOfThreads,
            List<String> planNotes) {
        Map<String, TopologyReport.GraphRow> graphs = new LinkedHashMap<>();
        graphs.put("ring", new TopologyReport.GraphRow(host.survey().channels().rings(), host.ringMillis()));
        graphs.put("tree", new TopologyReport.GraphRow(host.survey().channels().trees(), host.treeMillis()));
        host.survey()
                .channels()
                .chains()
                .ifPresent(chains -> graphs.put("chain", new TopologyReport.GraphRow(chains, host.chainMillis())));
        List<String> notes = new ArrayList<>(
                NetworkLimits.notes(plan.host(), index, host.paths().topology()));
        notes.addAll(host.notes());
        notes.addAll(planNotes);
        return report(request, host.paths(), graphs, Optional.of(plan.host()), tuning, tuningOfThreads, notes);
    }

    private static TopologyReport report(
            Request request,
            NodePaths paths,
            Map<String, TopologyReport.GraphRow> graphs,
            Optional<Plan> plan,
            List<TopologyReport.TuningRow> tuning,
            List<TopologyReport.TuningRow> tuningOfThreads,
            List<String> notes) {
        return new TopologyReport(
                request.source,
                request.version,
                request.description,
                nodeRows(paths.topology()),
                pathRows(paths),
                Collections.unmodifiableMap(graphs),
                plan,
                tuning,
                tuningOfThreads,
                SharedGpus.of(paths.topology()).ranks(),
                notes);
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
            targets.forEach(to -> rows.add(pathRow(paths, paths.path(from, to))));
        }
        for (int from : nets) {
            endpoints.forEach(to -> rows.add(pathRow(paths, paths.path(from, to))));
        }
        return rows;
    }

    private static TopologyReport.PathRow pathRow(NodePaths paths, NodePath path) {
        Topology topology = paths.topology();
        boolean gpus = topology.node(path.from()).type() == NodeType.GPU
                && topology.node(path.to()).type() == NodeType.GPU;
        return new TopologyReport.PathRow(
                topology.node(path.from()).name(),
                topology.node(path.to()).name(),
                path.type(),
                path.bandwidthGBps(),
                path.hops(),
                path.via().stream().map(node -> topology.node(node).name()).toList(),
                gpus ? paths.apart(path.from(), path.to()) : Optional.empty());
    }
}
