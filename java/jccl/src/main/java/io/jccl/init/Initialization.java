package io.jccl.init;

import io.jccl.CommunicatorConfig;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.PeerFailedException;
import io.jccl.PeerTransport;
import io.jccl.TransportException;
import io.jccl.config.AlgorithmSettings;
import io.jccl.config.LaunchSettings;
import io.jccl.config.Settings;
import io.jccl.config.TimeSettings;
import io.jccl.config.TransportSettings;
import io.jccl.events.LogContext;
import io.jccl.init.EngineConnector.Connections;
import io.jccl.internal.Causes;
import io.jccl.membership.Bootstrap;
import io.jccl.membership.MemberFile;
import io.jccl.nativelib.NativeEngine;
import io.jccl.parts.ChoiceTuner;
import io.jccl.parts.Extension;
import io.jccl.parts.InitContext;
import io.jccl.parts.OperationProfiler;
import io.jccl.planning.CommunicatorPlan;
import io.jccl.planning.NetworkLimits;
import io.jccl.planning.NetworkMap;
import io.jccl.planning.Plan;
import io.jccl.planning.PlannedHost;
import io.jccl.planning.Planner;
import io.jccl.planning.PlanningOptions;
import io.jccl.search.GraphFile;
import io.jccl.status.CommunicatorStatus;
import io.jccl.topology.NetPlugin;
import io.jccl.topology.NodePaths;
import io.jccl.transport.TransportMap;
import io.jccl.transport.TransportSelector;
import io.jccl.tuning.AddedHostAlgorithm;
import io.jccl.tuning.HostCosts;
import io.jccl.tuning.SocketStreams;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The initialisation of one communicator on one rank, from the membership to the first operation.
 * {@link #initializeLogged} has one line for each step, and {@link #inheritLogged} the fewer steps of a split. Each step
 * calls a lower package and returns a value that later steps need.
 */
final class Initialization {

    private static final Logger LOG = LoggerFactory.getLogger(Initialization.class);

    /** Time that a rank waits after a failed connection, to learn from the coordinator whether the peer has ended. */
    private static final Duration PEER_LOSS = Duration.ofMillis(500);

    private final CommunicatorConfig config;
    private final HostCosts costs;
    private final Bootstrap membership;
    private final CommunicatorStatus status;
    private final InitContext context;
    private final Timeline timeline;

    /** Frees resources if initialisation fails, the newest first. */
    private final Deque<Runnable> acquired = new ArrayDeque<>();

    Initialization(
            CommunicatorConfig config,
            Settings settings,
            HostCosts costs,
            Bootstrap membership,
            CommunicatorStatus status,
            Timeline timeline) {
        this.config = config;
        this.costs = costs;
        this.membership = membership;
        this.status = status;
        this.context = InitContext.of(settings, membership);
        this.timeline = timeline;
    }

    InitializedCommunicator initialize() {
        return logged(this::initializeLogged);
    }

    /**
     * Initialises a communicator that was split off from another, whose inheritance it takes.
     *
     * @param ranks the ranks of this communicator by their numbers in the other
     * @param introductions what each rank tells the others
     * @param draft what this rank has made before
     */
    InitializedCommunicator inherit(
            Inheritance inherited, List<Integer> ranks, List<byte[]> introductions, SplitDraft draft) {
        return logged(() -> inheritLogged(inherited, ranks, introductions, draft));
    }

    @SuppressWarnings("try") // the log context has its effect while it is open
    private InitializedCommunicator logged(Supplier<InitializedCommunicator> steps) {
        try (LogContext logs = LogContext.of(context.rank(), id())) {
            return giveUpUnlessInitialized(steps);
        }
    }

    private String id() {
        return InitializedCommunicator.id(config, membership.identity(), membership.generation());
    }

    private InitializedCommunicator initializeLogged() {
        status.joined(membership, id());
        timeline.step("bootstrap");
        status.step("exchange of settings and addresses");
        Optional<GraphFile> graphs = InitSettings.requireSame(context, config.name(), costs);
        NetPlugin.Choice found = NetPlugin.of(context.settings());
        ChoiceTuner tuner = Parts.tuner(context, id(), found.plugin());
        acquired.push(tuner::close);
        Peers peers = exchangePeers(found, tuner);
        DeviceConnector.check(context, peers);
        NetPlugin.Choice plugin = PluginAgreement.of(found, context.rank(), peers);
        timeline.step("peers");
        status.step("topology and plan");
        Surveys surveys = Surveys.exchange(context, peers, plugin.plugin(), graphs);
        PlanningOptions options = options(peers);
        CommunicatorPlan planned = plan(peers, surveys, options);
        timeline.step("topology");
        status.step("connections");
        SocketStreams streams = streams(planned, peers);
        EngineConnector engines = engines(peers, plugin, streams, surveys);
        NativeEngine engine = create(engines, planned);
        Connections connections = engines.connect(engine, planned.host());
        Extension extension = Parts.extension(context);
        List<AddedHostAlgorithm> added = extension.connectHosts(engine, planned.host());
        timeline.step("connect");
        status.step("tuning and devices");
        tuner.begin(planned.host());
        CommunicatorPlan plan = choose(planned, connections, added, options, peers, tuner);
        timeline.step("tuning");
        Optional<StagedDevice> stagedDevice = StagedDevice.create(context, peers);
        if (stagedDevice.isPresent()) {
            acquired.push(stagedDevice.get()::destroy);
        }
        Optional<ConnectedDevice> device = stagedDevice.isPresent()
                ? Optional.empty()
                : new DeviceConnector(
                                context,
                                peers,
                                new Decisions(plan, options),
                                surveys,
                                connections,
                                engines,
                                extension,
                                tuner)
                        .connect();
        if (device.isPresent()) {
            acquired.push(device.get()::destroy);
        }
        tuner.close();
        Optional<OperationProfiler> profiler = profiler(plan, found.plugin());
        status.step("barrier");
        context.barrier();
        if (membership.isReformed()) {
            confirm();
        }
        timeline.step("barrier");
        InitializedCommunicator communicator = new InitializedCommunicator(
                facts(),
                new ConnectedHost(engine, plan.host(), plan.choices(), connections.transports()),
                device,
                stagedDevice,
                profiler,
                peers.rendezvousAddresses(),
                status,
                Optional.of(new Inheritance(
                                context.settings(), peers, surveys, graphs, plugin, planned, streams, connections))
                        .filter(Inheritance::isPlain),
                membership);
        Optional<String> memberFile = context.settings().get(LaunchSettings.MEMBER_FILE);
        if (memberFile.isPresent() && !membership.isPart()) {
            MemberFile.write(Path.of(memberFile.get()), membership);
        }
        logReady(communicator, peers, connections, plugin);
        return communicator;
    }

    private PlanningOptions options(Peers peers) {
        return PlanningOptions.of(context.settings(), costs, Parts.expected(context.settings()))
                .withHostsPerCore(peers.domainsPerCore());
    }

    private SocketStreams streams(CommunicatorPlan planned, Peers peers) {
        return SocketStreams.of(context.settings(), planned.shape(), costs, peers.encryptData());
    }

    private EngineConnector engines(Peers peers, NetPlugin.Choice plugin, SocketStreams streams, Surveys surveys) {
        return new EngineConnector(
                context, id(), peers, plugin, streams, surveys.paths().topology());
    }

    private NativeEngine create(EngineConnector engines, CommunicatorPlan planned) {
        return acquire(engines.create(planned.host().channels()));
    }

    private NativeEngine acquire(NativeEngine engine) {
        acquired.push(engine::destroy);
        return engine;
    }

    private Optional<OperationProfiler> profiler(CommunicatorPlan plan, Optional<NetPlugin> plugin) {
        Optional<OperationProfiler> profiler =
                Parts.profiler(context, id(), plan.host().hosts().size(), plugin);
        if (profiler.isPresent()) {
            acquired.push(profiler.get()::close);
        }
        return profiler;
    }

    private InitializedCommunicator.Facts facts() {
        return new InitializedCommunicator.Facts(
                id(),
                context.rank(),
                context.size(),
                config,
                costs,
                context.settings().get(TimeSettings.TIMEOUT),
                context.settings().get(TimeSettings.INIT_TIMEOUT),
                context.settings().get(AlgorithmSettings.WIRE_FORMAT));
    }

    private InitializedCommunicator inheritLogged(
            Inheritance inherited, List<Integer> ranks, List<byte[]> sent, SplitDraft draft) {
        status.joined(membership, id());
        timeline.step("bootstrap");
        List<Introduction> introductions = introductions(sent);
        draft.requireAddress();
        status.step("topology and plan");
        Peers peers = inherited.peers(ranks);
        status.peers(peers.addresses());
        boolean isWhole = inherited.isOfAll(ranks);
        Surveys surveys =
                isWhole ? inherited.surveys() : Surveys.exchange(context, peers, Optional.empty(), inherited.graphs());
        PlanningOptions options = options(peers);
        CommunicatorPlan planned = isWhole ? inherited.planned() : plan(peers, surveys, options);
        timeline.step("topology");
        status.step("connections");
        SocketStreams streams = isWhole ? inherited.streams() : streams(planned, peers);
        EngineConnector engines = engines(peers, inherited.plugin(), streams, surveys);
        Connections connections = inherited.connections(ranks, context.rank());
        boolean isDrafted = isWhole && introductions.stream().allMatch(Introduction::hasConnectInfo);
        NativeEngine engine = isDrafted ? acquire(draft.takeEngine()) : create(engines, planned);
        List<byte[]> connectInfos = isDrafted
                ? introductions.stream().map(Introduction::connectInfo).toList()
                : context.allGather(EngineConnector.connectInfo(engine, connections));
        engines.connect(engine, connections, connectInfos, planned.host());
        timeline.step("connect");
        CommunicatorPlan plan = Planner.connected(planned, connections.slowestInside(), List.of(), options);
        Optional<OperationProfiler> profiler = profiler(plan, Optional.empty());
        status.step("barrier");
        context.barrier();
        engine.withdrawMemory(); // a process may have many communicators that are split off
        timeline.step("barrier");
        InitializedCommunicator communicator = new InitializedCommunicator(
                facts(),
                new ConnectedHost(engine, plan.host(), plan.choices(), connections.transports()),
                Optional.empty(),
                Optional.empty(),
                profiler,
                introductions.stream().map(Introduction::rendezvousAddress).toList(),
                status,
                Optional.of(inherited.with(peers, surveys, planned, streams, connections)),
                membership);
        logReady(communicator, peers, connections, inherited.plugin());
        return communicator;
    }

    /** Returns what each rank tells this one, and checks that all mean the same communicator. */
    private static List<Introduction> introductions(List<byte[]> sent) {
        List<Introduction> introductions = new ArrayList<>();
        for (int peer = 0; peer < sent.size(); peer++) {
            introductions.add(Introduction.decode(peer, sent.get(peer)));
            InitSettings.requireSameName(
                    introductions.get(0).name(), peer, introductions.get(peer).name());
        }
        return introductions;
    }

    private InitializedCommunicator giveUpUnlessInitialized(Supplier<InitializedCommunicator> steps) {
        boolean initialized = false;
        String why = "its log says why";
        try {
            InitializedCommunicator communicator = steps.get();
            initialized = true;
            timeline.end(id(), context.rank(), context.size(), "");
            return communicator;
        } catch (TransportException e) {
            why = e.getMessage();
            throw membership
                    .awaitFailure(PEER_LOSS)
                    .filter(PeerFailedException.class::isInstance)
                    .orElse(e);
        } catch (InterruptedCommunicationException e) {
            why = "its thread was interrupted";
            throw e;
        } catch (JcclException e) {
            why = e.getMessage();
            throw e;
        } catch (RuntimeException | Error e) {
            why = Causes.describe(e);
            throw e;
        } finally {
            if (!initialized) {
                timeline.end(id(), context.rank(), context.size(), why);
                membership.giveUp(why);
                acquired.forEach(Runnable::run);
            }
        }
    }

    /**
     * Confirms a reformed communicator: a second barrier tells each rank that all ranks have passed the first. A
     * failure here is only logged, because other ranks may already use the communicator; its first operation will
     * report the failure.
     */
    private void confirm() {
        try {
            context.barrier();
            membership.confirm();
        } catch (InterruptedCommunicationException e) {
            LOG.info("rank={} was interrupted when the communicator was initialised", context.rank());
            Thread.currentThread().interrupt();
        } catch (JcclException e) {
            LOG.info(
                    "rank={} does not know whether all ranks use the communicator: {}", context.rank(), e.getMessage());
        }
    }

    private Peers exchangePeers(NetPlugin.Choice plugin, ChoiceTuner tuner) {
        Peers peers = Peers.exchange(context, plugin, status, tuner.isOpen());
        if (context.rank() == 0) {
            warn(peers.notes());
        }
        return peers;
    }

    private CommunicatorPlan plan(Peers peers, Surveys surveys, PlanningOptions options) {
        CommunicatorPlan plan = Planner.plan(
                surveys.hosts(),
                surveys.gpus(),
                TransportSelector.expectedInside(context.settings(), peers.oneProcessEach()),
                options);
        if (plan.gpu().isPresent()) {
            logGpus(plan.gpu().get().plan(), peers);
        }
        logNetwork(plan.host(), surveys);
        return plan;
    }

    private void logGpus(Plan plan, Peers peers) {
        List<List<Integer>> sharing = peers.ranksOfGpus().values().stream()
                .filter(ranks -> ranks.size() > 1)
                .toList();
        LOG.info(
                "rank={} GPUs: hosts={} channels={} ring={}{}",
                context.rank(),
                plan.hosts().size(),
                plan.channels(),
                Arrays.toString(plan.ring(0)),
                sharing.isEmpty() ? "" : " ranks on one GPU=" + sharing);
    }

    /** Logs the network of this rank's host, on the host's lowest rank only. */
    private void logNetwork(Plan plan, Surveys surveys) {
        PlannedHost mine = plan.hostOf(context.rank());
        if (mine.ranks().get(0) == context.rank()) {
            warn(surveys.notes());
            NodePaths paths = surveys.paths();
            Optional<String> map = NetworkMap.describe(plan, mine.index(), paths);
            if (map.isPresent()) {
                LOG.info("host={} of ranks={} network: {}", mine.index(), mine.ranks(), map.get());
            }
            warn(NetworkLimits.notes(plan, mine.index(), paths.topology()));
        }
    }

    private static void warn(List<String> notes) {
        for (String note : notes) {
            LOG.warn(note);
        }
    }

    /** Completes the plan with the transports that all ranks agreed on, and with the changes of a tuner plug-in. */
    private CommunicatorPlan choose(
            CommunicatorPlan planned,
            Connections connections,
            List<AddedHostAlgorithm> added,
            PlanningOptions options,
            Peers peers,
            ChoiceTuner tuner) {
        CommunicatorPlan plan = Planner.connected(planned, connections.slowestInside(), added, options);
        if (context.rank() == 0) {
            for (String note : plan.notes()) {
                LOG.info(note);
            }
        }
        return peers.areTuned() ? plan.with(tuner.tune("host memory", plan.choices())) : plan;
    }

    private void logReady(
            InitializedCommunicator communicator, Peers peers, Connections connections, NetPlugin.Choice plugin) {
        String id = communicator.id();
        int rank = communicator.rank();
        List<PeerTransport> transports = connections.transports();
        if (!LOG.isInfoEnabled()) {
            return;
        }
        String pluginName = plugin.plugin().map(NetPlugin::name).orElse("");
        LOG.info(
                "communicator={} {}{}",
                id,
                TransportMap.describe(rank, transports, connections.addresses(), pluginName),
                peers.encryption(context.settings()));
        if (socketsAreUnwanted()) {
            for (String line : TransportMap.detours(rank, transports, peer -> peers.sameHost(peer, rank))) {
                LOG.info("communicator={} {}", id, line);
            }
        }
        LOG.info(
                "communicator={} rank={} size={} hosts={} channels={} ready: {}",
                id,
                rank,
                communicator.size(),
                communicator.host().plan().hosts().size(),
                communicator.host().plan().channels(),
                timeline.describe());
    }

    /** Returns true if no setting asks for sockets inside a host. Their use is then worth an explanation in the log. */
    private boolean socketsAreUnwanted() {
        return context.settings().get(TransportSettings.TRANSPORT).isEmpty()
                && !context.settings().get(TransportSettings.SHM_DISABLE);
    }
}
