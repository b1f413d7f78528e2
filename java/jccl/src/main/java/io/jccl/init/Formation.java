package io.jccl.init;

import io.jccl.BootstrapException;
import io.jccl.CommunicatorConfig;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.PeerFailedException;
import io.jccl.PeerTransport;
import io.jccl.TransportException;
import io.jccl.TransportKind;
import io.jccl.UniqueId;
import io.jccl.bootstrap.Bootstrap;
import io.jccl.bootstrap.BootstrapOptions;
import io.jccl.bootstrap.Launch;
import io.jccl.bootstrap.LauncherEnvironment;
import io.jccl.bootstrap.NetworkInterfaces;
import io.jccl.bootstrap.ReportKind;
import io.jccl.config.AlgorithmSettings;
import io.jccl.config.IbSettings;
import io.jccl.config.LaunchSettings;
import io.jccl.config.Settings;
import io.jccl.config.TimeSettings;
import io.jccl.config.TransportSettings;
import io.jccl.device.HostIdentity;
import io.jccl.nativelib.NativeEngine;
import io.jccl.plan.Machine;
import io.jccl.plan.Plan;
import io.jccl.plan.PlanOptions;
import io.jccl.topology.NodePaths;
import io.jccl.topology.SysfsDetector;
import io.jccl.topology.Topology;
import io.jccl.transport.EngineConnections;
import io.jccl.transport.PeerIdentity;
import io.jccl.transport.TransportMap;
import io.jccl.transport.TransportSelector;
import io.jccl.tuning.ChoiceTable;
import io.jccl.tuning.CommunicatorShape;
import io.jccl.tuning.HostCosts;
import io.jccl.tuning.MachineTraits;
import io.jccl.tuning.NetworkLimits;
import io.jccl.tuning.NetworkMap;
import io.jccl.tuning.PlannedModel;
import io.jccl.tuning.TuningOverrides;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The life of a communicator up to its first operation. {@link #form()} is the story, one step a line; each step is a call
 * into a lower floor. One object forms one communicator on one rank.
 */
public final class Formation {

    private static final Logger LOG = LoggerFactory.getLogger(Formation.class);

    /** How long after a connection to a peer failed it may turn out that the peer has ended. */
    private static final Duration PEER_LOSS = Duration.ofMillis(500);

    private final CommunicatorConfig config;
    private final Settings settings;
    private final HostCosts costs;
    private final Bootstrap membership;
    private final int rank;
    private final int size;
    private final long deadline;
    private final Timeline timeline;

    private List<PeerInfo> peers;
    private PeerMap map;
    private Topology topology;
    private MachineTraits traits;
    private TransportKind slowestInside;
    private Plan plan;
    private Optional<GpuPlan> gpuPlan = Optional.empty();
    private double netGBps;
    private NativeEngine engine;
    private List<PeerTransport> transports;
    private List<InetAddress> dataAddresses;
    private ChoiceTable choices;
    private Optional<FormedDevice> device = Optional.empty();
    private Optional<StagedDevice> stagedDevice = Optional.empty();

    private Formation(
            CommunicatorConfig config, Settings settings, HostCosts costs, Bootstrap membership, Timeline timeline) {
        this.config = config;
        this.settings = settings;
        this.costs = costs;
        this.membership = membership;
        this.rank = membership.rank();
        this.size = membership.size();
        this.deadline =
                System.nanoTime() + settings.get(TimeSettings.INIT_TIMEOUT).toNanos();
        this.timeline = timeline;
    }

    /** Starts a root in this process; see {@link UniqueId#create(CommunicatorConfig)}. */
    public static UniqueId openRoot(CommunicatorConfig config) {
        return Bootstrap.createId(InitSettings.bootstrap(Settings.load(config)));
    }

    /** Forms the communicator of an id; see {@link io.jccl.Communicator#init}. */
    public static FormedCommunicator form(UniqueId id, int rank, int size, CommunicatorConfig config) {
        Settings settings = InitSettings.load(config);
        HostCosts costs = HostCosts.of(settings);
        Timeline timeline = new Timeline(System::nanoTime);
        Bootstrap membership = Bootstrap.join(id, rank, size, InitSettings.bootstrap(settings));
        return new Formation(config, settings, costs, membership, timeline).form();
    }

    /**
     * Forms the communicator of the launcher's job; see {@link io.jccl.Communicator#fromEnvironment}.
     *
     * @param generation how many communicators this process has formed so before
     */
    public static FormedCommunicator fromEnvironment(int generation, CommunicatorConfig config) {
        Settings settings = InitSettings.load(config);
        HostCosts costs = HostCosts.of(settings);
        BootstrapOptions options = InitSettings.bootstrap(settings);
        Timeline timeline = new Timeline(System::nanoTime);
        Launch launch = LauncherEnvironment.detect(System.getenv());
        Bootstrap membership = Bootstrap.join(launch, generation, options);
        return new Formation(config, settings, costs, membership, timeline).form();
    }

    /** Forms communicators of those ranks of one that give the same color; see {@link io.jccl.Communicator#split}. */
    public static Optional<FormedCommunicator> split(FormedCommunicator parent, int color, int key) {
        Settings settings = InitSettings.load(parent.config());
        Timeline timeline = new Timeline(System::nanoTime);
        try {
            return parent.membership()
                    .split(color, key, InitSettings.bootstrap(settings))
                    .map(membership -> after(parent, membership, settings, timeline));
        } catch (InterruptedCommunicationException e) {
            String text = "split(color=" + color + " key=" + key + ") on rank=" + parent.rank()
                    + ": the thread that waits was interrupted";
            parent.membership().control().report(ReportKind.ABORT, 0, text);
            throw e;
        }
    }

    /** Forms a communicator of the ranks that are left of one; see {@link io.jccl.Communicator#shrink}. */
    public static FormedCommunicator shrink(
            FormedCommunicator parent, SortedSet<Integer> excluded, boolean needsMajority) {
        return new Shrinking(parent, excluded).form(needsMajority);
    }

    /**
     * Throws if the other ranks of a communicator count this one as failed.
     *
     * @throws BootstrapException that says so
     */
    public static void requireNotLeftOut(FormedCommunicator formed) {
        formed.membership()
                .control()
                .verdict()
                .filter(verdict -> verdict.failedRanks().contains(formed.rank()))
                .ifPresent(verdict -> {
                    throw new BootstrapException("communicator=" + formed.id() + " rank=" + formed.rank()
                            + " cannot be shrunk here: " + verdict.text());
                });
    }

    /** Forms the communicator of a group that came from another, as that was configured. */
    static FormedCommunicator after(
            FormedCommunicator parent, Bootstrap membership, Settings settings, Timeline timeline) {
        return new Formation(parent.config(), settings, parent.costs(), membership, timeline).form();
    }

    private FormedCommunicator form() {
        boolean formed = false;
        String why = "its log says why";
        try {
            timeline.step("bootstrap");
            gatherPeers();
            timeline.step("peers");
            LocalTopology.Searched machine = LocalTopology.search(settings, rank, map);
            makePlan(gatherChannels(machine.found()));
            topology = machine.paths().topology();
            tellOfNetwork(machine.paths());
            timeline.step("topology");
            createEngine();
            connect();
            timeline.step("connect");
            tabulateChoices();
            timeline.step("tuning");
            stagedDevice = StagedFormation.form(settings, membership, peers, left());
            if (stagedDevice.isEmpty()) {
                device = new DeviceFormation(settings, membership, peers, plan, gpuPlan, transports, this::formStaging)
                        .form(this::left);
            }
            membership.outOfBand().barrier(left());
            timeline.step("barrier");
            formed = true;
            return finished();
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
        } finally {
            if (!formed) {
                giveUp(why);
            }
        }
    }

    private void gatherPeers() {
        SysfsDetector machine = SysfsDetector.ofThisMachine();
        PeerInfo mine = new PeerInfo(
                settings.get(LaunchSettings.HOST_ID).orElseGet(HostIdentity::machine),
                HostIdentity.enclosure(),
                HostIdentity.process(),
                machine.processorsOfThisProcess(),
                machine.numaNodeOfThisProcess(),
                DeviceEndpoint.of(settings),
                membership.meetingPlace(),
                InitSettings.shared(settings, costs));
        List<byte[]> all = membership.outOfBand().allGather(mine.encode(), left());
        peers = new ArrayList<>();
        for (int peer = 0; peer < size; peer++) {
            peers.add(PeerInfo.decode(peer, all.get(peer)));
        }
        for (int peer = 1; peer < size; peer++) {
            peers.get(0).requireSameSettings(0, peer, peers.get(peer)); // all ranks find the same difference
        }
        map = new PeerMap(peers);
        if (rank == 0) {
            map.notes().forEach(LOG::warn);
        }
    }

    private MachineChannels gatherChannels(LocalTopology.Found mine) {
        boolean lowest = map.ranksOfMachine(rank).get(0) == rank;
        return MachineChannels.decode(
                map, membership.outOfBand().allGather(ChannelsCodec.encode(mine, lowest), left()));
    }

    private void makePlan(MachineChannels channels) {
        traits = channels.traits();
        netGBps = channels.netGBps();
        int min = Math.max(1, settings.get(AlgorithmSettings.MIN_NCHANNELS));
        int max = settings.get(AlgorithmSettings.MAX_NCHANNELS);
        PlanOptions options = new PlanOptions(min, max == 0 ? PlanOptions.CHANNEL_LIMIT : max);
        plan = Plan.build(channels.ofRanks(), options);
        gpuPlan = GpuPlan.make(settings, membership, peers, map, options, left());
        gpuPlan.ifPresent(it -> LOG.info(
                "rank={} GPUs: machines={} channels={} ring={}{}",
                rank,
                it.plan().machines().size(),
                it.plan().channels(),
                Arrays.toString(it.plan().ring(0)),
                it.sharing().isEmpty() ? "" : " ranks on one GPU=" + it.sharing()));
    }

    /** Once on each machine, about its own devices. */
    private void tellOfNetwork(NodePaths paths) {
        Machine mine = plan.machineOf(rank);
        if (mine.ranks().get(0) == rank) {
            NetworkMap.describe(plan, mine.index(), paths)
                    .ifPresent(map -> LOG.info("machine={} of ranks={} network: {}", mine.index(), mine.ranks(), map));
            NetworkLimits.notes(plan, mine.index(), paths.topology()).forEach(LOG::warn);
        }
    }

    private void createEngine() {
        engine = NativeEngine.create(engineConfig(plan.channels()), EngineConfig.texts(settings, topology));
    }

    private long[] engineConfig(int channels) {
        return EngineConfig.of(
                settings, membership, channels, map.ranksOfHost(rank).size(), map.coresOfHost(rank));
    }

    /** Connects an engine like this rank's own, by the same transports, for what GPUs stage through the host. */
    private NativeEngine formStaging(Plan of, int channels, Consumer<NativeEngine> beforeConnecting) {
        NativeEngine staging = NativeEngine.create(
                EngineConfig.forStaging(engineConfig(channels)), EngineConfig.texts(settings, topology));
        boolean formed = false;
        try {
            beforeConnecting.accept(staging);
            EngineFormation forming = new EngineFormation(staging, membership, peers, dataAddresses);
            forming.connect(transports, forming.introduce(left()), of, channels, this::left);
            formed = true;
            return staging;
        } finally {
            if (!formed) {
                staging.destroy();
            }
        }
    }

    private void connect() {
        dataAddresses = NetworkInterfaces.forData(InitSettings.bootstrap(settings), membership.localAddress());
        EngineFormation forming = new EngineFormation(engine, membership, peers, dataAddresses);
        List<PeerIdentity> identities = forming.introduce(left());
        transports = agreeOnTransports(identities, new EngineConnections(engine));
        forming.connect(transports, identities, plan, plan.channels(), this::left);
    }

    private List<PeerTransport> agreeOnTransports(List<PeerIdentity> identities, EngineConnections connections) {
        TransportSelector selector = new TransportSelector(
                identities.get(rank), settings.get(TransportSettings.TRANSPORT), disabledTransports(), connections);
        List<PeerTransport> mine = identities.stream()
                .filter(peer -> peer.rank() != rank)
                .map(selector::select)
                .toList();
        List<byte[]> all = membership.outOfBand().allGather(TransportSelector.encode(size, mine), left());
        slowestInside = TransportSelector.slowestInside(
                all, plan.machines().stream().map(Machine::ranks).toList());
        return TransportSelector.agree(rank, mine, all);
    }

    private Set<TransportKind> disabledTransports() {
        Set<TransportKind> disabled = EnumSet.noneOf(TransportKind.class);
        if (settings.get(TransportSettings.P2P_DISABLE)) {
            disabled.add(TransportKind.P2P);
        }
        if (settings.get(TransportSettings.SHM_DISABLE)) {
            disabled.add(TransportKind.SHM);
        }
        if (settings.get(IbSettings.IB_DISABLE)) {
            disabled.add(TransportKind.IB);
        }
        return disabled;
    }

    private void tabulateChoices() {
        CommunicatorShape.SlotBytes slots = CommunicatorShape.SlotBytes.of(settings);
        TuningOverrides overrides = TuningOverrides.of(settings);
        choices = ChoiceTable.build(
                PlannedModel.of(plan, traits, slots, overrides, costs, () -> shape(slots)), overrides);
        if (rank == 0) {
            choices.notes().forEach(LOG::info);
        }
    }

    private CommunicatorShape shape(CommunicatorShape.SlotBytes slots) {
        int localRanks = plan.machines().stream()
                .mapToInt(machine -> machine.ranks().size())
                .max()
                .orElseThrow();
        int fullest = plan.machines().stream()
                .min(Comparator.comparingDouble(this::coresPerRank))
                .orElseThrow()
                .ranks()
                .get(0);
        return new CommunicatorShape(
                size,
                plan.machines().size(),
                localRanks,
                map.coresOfMachine(fullest),
                plan.channels(),
                plan.treeDepth(0),
                slowestInside,
                netGBps,
                slots);
    }

    private double coresPerRank(Machine machine) {
        return (double) map.coresOfMachine(machine.ranks().get(0))
                / machine.ranks().size();
    }

    private FormedCommunicator finished() {
        String id = HexFormat.of().formatHex(membership.sessionId(), 0, 4);
        LOG.info("communicator={} {}", id, TransportMap.describe(rank, transports, dataAddresses));
        if (socketsAreNoChoice()) {
            String host = peers.get(rank).hostId();
            TransportMap.detours(
                            rank, transports, peer -> peers.get(peer).hostId().equals(host))
                    .forEach(line -> LOG.info("communicator={} {}", id, line));
        }
        LOG.info(
                "communicator={} rank={} size={} machines={} channels={} ready: {}",
                id,
                rank,
                size,
                plan.machines().size(),
                plan.channels(),
                timeline.describe());
        return new FormedCommunicator(
                id,
                rank,
                size,
                config,
                costs,
                settings.get(TimeSettings.TIMEOUT),
                settings.get(TimeSettings.INIT_TIMEOUT),
                engine,
                plan,
                choices,
                transports,
                device,
                stagedDevice,
                peers.stream().map(PeerInfo::meetingPlace).toList(),
                membership);
    }

    private void giveUp(String why) {
        membership.giveUp(why);
        device.ifPresent(FormedDevice::destroy);
        stagedDevice.ifPresent(StagedDevice::destroy);
        if (engine != null) {
            engine.destroy();
        }
    }

    /** Whether no setting asks for sockets inside a host, so that whoever uses them has a reason. */
    private boolean socketsAreNoChoice() {
        return settings.get(TransportSettings.TRANSPORT).isEmpty() && !settings.get(TransportSettings.SHM_DISABLE);
    }

    private Duration left() {
        long nanos = deadline - System.nanoTime();
        return Duration.ofNanos(Math.max(1_000_000, nanos));
    }
}
