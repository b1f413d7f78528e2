package io.jccl.init;

import io.jccl.DeviceException;
import io.jccl.PeerTransport;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.config.AlgorithmSettings;
import io.jccl.config.MemorySettings;
import io.jccl.config.NetworkSettings;
import io.jccl.config.RecorderSettings;
import io.jccl.config.Settings;
import io.jccl.init.ConnectedDevice.Choices;
import io.jccl.init.EngineConnector.Connections;
import io.jccl.nativelib.DeviceConfig;
import io.jccl.nativelib.DeviceEngine;
import io.jccl.nativelib.NativeEngine;
import io.jccl.nativelib.Rows;
import io.jccl.parts.ChoiceTuner;
import io.jccl.parts.InitContext;
import io.jccl.planning.CommunicatorPlan;
import io.jccl.planning.DeviceFacts;
import io.jccl.planning.Plan;
import io.jccl.planning.Planner;
import io.jccl.planning.PlanningOptions;
import io.jccl.planning.TreeLinks;
import io.jccl.transport.PeerIdentity;
import io.jccl.tuning.ChoiceTable;
import io.jccl.tuning.CollNetTraits;
import io.jccl.tuning.CommunicatorShape.SlotBytes;
import io.jccl.wire.RankList;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.IntSummaryStatistics;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes the part of a communicator that works on this rank's GPU, and connects it to the GPUs of the other ranks. */
final class DeviceConnector {

    private static final Logger LOG = LoggerFactory.getLogger(DeviceConnector.class);

    private final InitContext context;
    private final Settings settings;
    private final Peers peers;
    private final CommunicatorPlan planned;
    private final Plan plan;
    private final PlanningOptions options;
    private final DirectSlots.Devices direct;
    private final Connections connections;
    private final EngineConnector engines;
    private final ChoiceTuner tuner;
    private final int rank;
    private final Optional<CollNetTraits> onHosts;
    private Optional<NativeEngine> staging = Optional.empty();
    private List<DirectSlots.Use> slots = List.of();
    private Forwarding forwarding = Forwarding.NONE;
    private boolean stagedInsideAHost; // true if any two ranks of one host are staged; the same on all ranks

    /**
     * @param direct the network devices that use the memory of this rank's GPU
     * @param connections the connections between this rank's host memory and each peer's
     * @param engines connects engines of the host
     * @param tuner initialised for this communicator
     */
    DeviceConnector(
            InitContext context,
            Peers peers,
            Decisions decisions,
            DirectSlots.Devices direct,
            Connections connections,
            EngineConnector engines,
            ChoiceTuner tuner) {
        this.context = context;
        this.settings = context.settings();
        this.peers = peers;
        this.planned = decisions.plan();
        this.plan = planned.onDevices();
        this.options = decisions.options();
        this.direct = direct;
        this.connections = connections;
        this.engines = engines;
        this.tuner = tuner;
        this.rank = context.rank();
        this.onHosts = decisions.collNet();
    }

    /**
     * Connects this rank's GPU to those of the other ranks.
     *
     * @return empty if no rank has a GPU
     * @throws DeviceException if only some ranks have a GPU, too many ranks share one, or GPUs cannot be connected
     */
    Optional<ConnectedDevice> connect() {
        if (!allHaveDevices()) {
            return Optional.empty();
        }
        int channels = channels();
        int ordinal = peers.get(rank).device().orElseThrow().ordinal();
        DeviceHandleExchange handles = new DeviceHandleExchange(context, peers);
        DeviceEngine engine = DeviceEngine.create(config(ordinal, channels, handles.needsDescriptors()));
        boolean connected = false;
        try {
            peersElsewhere().forEach(engine::setStaged);
            EngineConnector.setRingsAndTrees(engine, plan, channels, rank);
            int groups = Math.min(channels, onHosts.map(CollNetTraits::groups).orElse(0));
            for (int channel = 0; channel < groups; channel++) {
                setChain(engine, channel);
                TreeLinks links = plan.hostTree(channel, rank);
                engine.setHostTree(channel, links.up(), links.downRanks());
            }
            placeSlots(engine, channels);
            connect(engine, handles.connect(engine), channels);
            Optional<CollNetTraits> collNet = groups == 0
                    ? Optional.empty()
                    : CollNetConnector.forDevices(context, staging.orElseThrow(), engine, plan, groups)
                            .connect();
            engine.prepare(inPlace(), staging);
            context.barrier();
            DeviceFacts facts = facts(channels, testProtocols(engine), collNet).withNvls(connectNvls(engine));
            // made before `onRegistered`, so that errors list the smaller set of algorithms
            Choices choices = choices(facts);
            boolean registers = staging.isEmpty() && !inPlace();
            Optional<Choices> onRegistered =
                    registers ? Optional.of(choices(facts.withInPlace(true))) : Optional.empty();
            ConnectedDevice device = new ConnectedDevice(ordinal, engine, staging, choices, onRegistered);
            connected = true;
            return Optional.of(device);
        } finally {
            if (!connected) {
                engine.destroy();
                staging.ifPresent(NativeEngine::destroy);
            }
        }
    }

    private Choices choices(DeviceFacts facts) {
        String memory = facts.inPlace() ? "GPU memory in place" : "GPU memory";
        ChoiceTable all = tuned(memory, Planner.deviceChoices(planned, facts, options));
        return new Choices(
                all,
                facts.nvls()
                        ? tuned(
                                memory + " without NVLS",
                                Planner.deviceChoices(planned, facts.withNvls(false), options.withoutNvls()))
                        : all);
    }

    private ChoiceTable tuned(String memory, ChoiceTable table) {
        return peers.areTuned() ? tuner.tune(memory, table) : table;
    }

    private boolean connectNvls(DeviceEngine engine) {
        NvlsConnector nvls = new NvlsConnector(context, peers);
        if (!Planner.expectsNvls(planned, options) || staging.isPresent()) {
            return nvls.without(
                    staging.isPresent()
                            ? "GPUs do not reach each other's memory"
                            : "it needs one host with a separate GPU for each rank, and an NVSwitch that can reduce");
        }
        return nvls.connect(engine);
    }

    /**
     * Sets this rank's place in the CollNet chain of a channel. A chain's leader also exchanges empty chunks with the
     * leaders of the hosts before and after its own.
     */
    private void setChain(DeviceEngine engine, int channel) {
        int hosts = plan.hosts().size();
        int host = plan.hostOf(rank).index();
        List<Integer> chain = plan.chain(channel, host);
        int place = chain.indexOf(rank);
        int down = place + 1 < chain.size() ? chain.get(place + 1) : -1;
        List<Integer> fromHere = chain.subList(place, chain.size());
        int among = (int) fromHere.stream().filter(other -> other < rank).count();
        boolean leads = place == 0;
        engine.setChain(
                channel,
                leads ? -1 : chain.get(place - 1),
                down,
                leads ? plan.chain(channel, (host + 1) % hosts).get(0) : -1,
                leads ? plan.chain(channel, (host + hosts - 1) % hosts).get(0) : -1,
                fromHere.size(),
                among);
    }

    private IntStream peersElsewhere() {
        return IntStream.range(0, context.size()).filter(peer -> !peers.sameHost(peer, rank));
    }

    /**
     * Connects through host memory to each peer whose GPU and this rank's GPU do not both reach each other's memory.
     */
    private void connect(DeviceEngine engine, DeviceHandleExchange.Reach reach, int channels) {
        if (reach.isWhole()) {
            return;
        }
        boolean[][] missing = reach.all();
        staging = Optional.of(engines.connectStaging(
                connections,
                plan,
                channels,
                host -> giveSlots(engine, host),
                (host, identities) -> sendThroughForwarders(engine, host, identities, reach)));
        stagedInsideAHost = IntStream.range(0, missing.length).anyMatch(one -> IntStream.range(0, missing.length)
                .anyMatch(other -> missing[one][other] && peers.sameHost(one, other)));
        Map<String, List<Integer>> staged = new LinkedHashMap<>();
        for (PeerTransport one : connections.transports()) {
            int peer = one.peer();
            if (missing[rank][peer] || missing[peer][rank]) {
                boolean gpuDirect = engine.connectStaged(peer, staging.get(), one.kind());
                String how = one.kind().label() + (gpuDirect ? " (SIMPLE by GPUDirect RDMA)" : "");
                String reason = reach.obstacles().getOrDefault(peer, "the peer does not reach this rank's memory");
                staged.computeIfAbsent(how + ", " + reason, key -> new ArrayList<>())
                        .add(peer);
            }
        }
        staged.forEach((how, ranks) -> LOG.info(
                "rank={}: to the GPUs of ranks {} through memory of the host, by {}", rank, RankList.text(ranks), how));
    }

    /** Decides which connections over adapters have slots in memory of this rank's GPU or of a forwarder's. */
    private void placeSlots(DeviceEngine engine, int channels) {
        List<DirectSlots.Use> planned = DirectSlots.of(plan, channels, rank, direct, this::byAdapter);
        int max = settings.get(NetworkSettings.NET_GDR_BUFFSIZE) / settings.getForDevices(MemorySettings.BUFFSIZE);
        List<DirectSlots.Use> others =
                DirectSlots.others(plan, rank, direct, this::byAdapter, planned, engine::stagedChannels, max);
        slots = new ArrayList<>();
        List<Forwarding.Connection> forwarded = new ArrayList<>();
        for (List<DirectSlots.Use> uses : List.of(planned, others)) {
            for (DirectSlots.Use use : uses) {
                Integer forwarder = direct.forwarders().get(use.device());
                if (!use.sends() || forwarder == null) {
                    slots.add(use);
                } else if (!peers.sameHost(use.peer(), rank)) {
                    forwarded.add(new Forwarding.Connection(
                            forwarder, rank, use.peer(), use.channel(), use.device(), uses == planned));
                }
            }
        }
        if (plan.hosts().size() > 1) {
            forwarding = Forwarding.agree(context, peers, forwarded);
        }
        engine.setForwarded(forwarding.count(rank));
    }

    /** Makes slots in memory of this rank's GPU, for its own connections and for those that it forwards. */
    private void giveSlots(DeviceEngine engine, NativeEngine host) {
        if (!slots.isEmpty()) {
            engine.makeDeviceSlots(slots.size())
                    .ifPresentOrElse(
                            memory -> host.useDeviceSlots(memory, DirectSlots.rows(slots)),
                            () -> LOG.warn(
                                    "rank={}: no GPUDirect RDMA for connections={}: {}; a smaller {} takes less memory",
                                    rank,
                                    slots.size(),
                                    engine.lastError(),
                                    NetworkSettings.NET_GDR_BUFFSIZE.name()));
        }
        if (forwarding.count(rank) > 0) {
            engine.forwardedSlots().ifPresent(memory -> host.forwardFor(memory, forwarding.rows(rank)));
        }
    }

    /**
     * Lets this rank's sends use its forwarders' GPUs. If a forwarder is not reached, its connections use host memory.
     */
    private void sendThroughForwarders(
            DeviceEngine engine, NativeEngine host, List<PeerIdentity> identities, DeviceHandleExchange.Reach reach) {
        for (int forwarder : forwarding.forwardersOf(rank)) {
            int[] requests = forwarding.requests(rank, forwarder);
            long address = engine.forwardedSlotsOf(forwarder);
            if (reach.all()[rank][forwarder] || address == 0) {
                LOG.warn(
                        "rank={}: does not send through the GPU of rank={} (PXN), connections={}: {}",
                        rank,
                        forwarder,
                        requests.length / Rows.REQUEST_LENGTH,
                        reach.obstacles().getOrDefault(forwarder, "this rank does not reach its memory"));
            } else {
                byte[] info = identities.get(forwarder).connectInfo();
                host.sendThrough(forwarder, info, forwarding.count(forwarder), address, requests);
            }
        }
    }

    private boolean byAdapter(int peer) {
        return connections.transports().stream()
                .anyMatch(one ->
                        one.peer() == peer && (one.kind() == TransportKind.IB || one.kind() == TransportKind.PLUGIN));
    }

    private boolean inPlace() {
        return staging.isEmpty()
                && peers.all().stream().map(PeerInfo::process).distinct().count() == 1;
    }

    /** Returns the protocols with which data arrives unchanged over every connection of all ranks. */
    private Set<Protocol> testProtocols(DeviceEngine engine) {
        byte[] passed = new byte[Protocol.values().length];
        StringBuilder reasons = new StringBuilder();
        for (Protocol protocol : carried()) {
            Optional<String> failure = engine.selfTest(protocol, context.left().toNanos());
            passed[protocol.ordinal()] = (byte) (failure.isEmpty() ? 1 : 0);
            failure.ifPresent(reason ->
                    reasons.append(protocol.label()).append(": ").append(reason).append(stagingError()));
        }
        if (!reasons.isEmpty()) {
            LOG.warn("rank={}: the self-test of connections failed, {}", rank, reasons);
        }
        Set<Protocol> all = EnumSet.allOf(Protocol.class);
        List<byte[]> everybody = context.allGather(passed);
        for (int peer = 0; peer < everybody.size(); peer++) {
            for (Protocol protocol : Protocol.values()) {
                if (everybody.get(peer)[protocol.ordinal()] == 0) {
                    all.remove(protocol);
                }
            }
        }
        if (!all.contains(Protocol.SIMPLE)) {
            throw new DeviceException(
                    "rank=" + rank + ": data does not come over the connections between the GPUs as it"
                            + " was sent, on this rank or another; use host buffers, and check the GPUs with nvidia-smi. "
                            + reasons);
        }
        return all;
    }

    /**
     * Returns the protocols to test. Network plug-ins carry SIMPLE only, as they would need two messages for a chunk of
     * another protocol.
     */
    private Set<Protocol> carried() {
        boolean byPlugin = connections.transports().stream().anyMatch(one -> one.kind() == TransportKind.PLUGIN);
        return byPlugin ? EnumSet.of(Protocol.SIMPLE) : EnumSet.allOf(Protocol.class);
    }

    /** Returns the last error of the staging engine, as an addition to a message. */
    private String stagingError() {
        String why = staging.map(NativeEngine::lastError).orElse("");
        return why.isEmpty() ? " " : "; " + why + " ";
    }

    private DeviceFacts facts(int channels, Set<Protocol> protocols, Optional<CollNetTraits> collNet) {
        List<PeerDevice> devices =
                peers.all().stream().map(peer -> peer.device().orElseThrow()).toList();
        IntSummaryStatistics capabilities =
                devices.stream().mapToInt(PeerDevice::capability).summaryStatistics();
        long ranksPerDevice = devices.stream().mapToLong(this::sharing).max().orElseThrow();
        // In host memory a 128-byte line can become visible in parts. Whether this happens between ranks of one GPU has
        // not been measured.
        boolean inDoubt = staging.isPresent() || ranksPerDevice > 1;
        if (inDoubt && !settings.get(AlgorithmSettings.LL128).equals("force")) {
            protocols.remove(Protocol.LL128);
        }
        return new DeviceFacts(
                channels,
                (int) ranksPerDevice,
                capabilities.getMin(),
                capabilities.getMax(),
                inPlace(),
                stagedInsideAHost,
                protocols,
                false,
                collNet);
    }

    /** Returns the number of ranks that share a device. */
    private long sharing(PeerDevice device) {
        return peers.all().stream()
                .filter(peer -> peer.device().orElseThrow().uuid().equals(device.uuid()))
                .count();
    }

    private boolean allHaveDevices() {
        List<Integer> with = new ArrayList<>();
        for (int peer = 0; peer < context.size(); peer++) {
            if (peers.get(peer).device().isPresent()) {
                with.add(peer);
            }
        }
        if (!with.isEmpty() && with.size() < context.size()) {
            throw new DeviceException("ranks=" + with + " of " + context.size()
                    + " have a GPU: expected all ranks or none; give every rank one with CommunicatorConfig.device or"
                    + " JCCL_DEVICE");
        }
        return !with.isEmpty();
    }

    /**
     * Returns the number of channels, the same on all ranks. Each channel needs a thread block. The blocks of all ranks
     * that share a device must be resident on it at the same time, together with those of other communicators.
     * Otherwise ranks would wait for a block that cannot run. If other communicators have all blocks, returns 1: the
     * device then runs kernels one after the other.
     */
    private int channels() {
        int fewest = Planner.MAX_DEVICE_CHANNELS;
        for (int peer = 0; peer < context.size(); peer++) {
            PeerDevice device = peers.get(peer).device().orElseThrow();
            long sharing = sharing(device);
            if (device.blocks() < sharing) {
                throw new DeviceException("device=" + device.ordinal() + " of rank=" + peer + " ranks=" + sharing
                        + " blocks=" + device.blocks()
                        + ": more ranks share this GPU than blocks of their kernels run on"
                        + " it at the same time; use at most " + device.blocks() + " ranks a GPU, or fewer threads"
                        + " (JCCL_NTHREADS)");
            }
            fewest = Math.min(fewest, Math.max(1, (int) (device.freeBlocks() / sharing)));
        }
        if (planned.gpu().isPresent()) {
            fewest = Math.min(fewest, plan.channels());
        }
        int max = settings.get(AlgorithmSettings.MAX_NCHANNELS);
        return max == 0 ? fewest : Math.min(max, fewest);
    }

    private DeviceConfig config(int ordinal, int channels, boolean descriptors) {
        DeviceConfig config = new DeviceConfig();
        config.set(DeviceConfig.RANK, rank);
        config.set(DeviceConfig.SIZE, context.size());
        config.set(DeviceConfig.CHANNELS, channels);
        config.set(DeviceConfig.DEVICE, ordinal);
        config.set(DeviceConfig.THREADS, PeerDevice.threads(settings));
        config.set(DeviceConfig.SIMPLE_SLOT_BYTES, SlotBytes.memory(settings.getForDevices(MemorySettings.BUFFSIZE)));
        config.set(DeviceConfig.LL_SLOT_BYTES, SlotBytes.memory(settings.getForDevices(MemorySettings.LL_BUFFSIZE)));
        config.set(
                DeviceConfig.LL128_SLOT_BYTES, SlotBytes.memory(settings.getForDevices(MemorySettings.LL128_BUFFSIZE)));
        ByteBuffer id = ByteBuffer.wrap(context.membership().sessionId());
        config.set(DeviceConfig.COMM_ID_HI, id.getLong());
        config.set(DeviceConfig.COMM_ID_LO, id.getLong());
        config.set(DeviceConfig.NVLS_SLOT_BYTES, settings.get(AlgorithmSettings.NVLS_CHUNKSIZE));
        config.set(DeviceConfig.DESCRIPTORS, descriptors);
        config.set(DeviceConfig.RECORDED_OPERATIONS, settings.get(RecorderSettings.RECORDER_OPERATIONS));
        return config;
    }
}
