package io.jccl.init;

import io.jccl.Algorithm;
import io.jccl.DeviceException;
import io.jccl.PeerTransport;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.config.AlgorithmSettings;
import io.jccl.config.LoggedOnce;
import io.jccl.config.MemorySettings;
import io.jccl.config.NetworkSettings;
import io.jccl.config.RecorderSettings;
import io.jccl.config.Settings;
import io.jccl.config.TransportSettings;
import io.jccl.init.ConnectedDevice.Choices;
import io.jccl.init.EngineConnector.Connections;
import io.jccl.nativelib.Code;
import io.jccl.nativelib.DeviceConfig;
import io.jccl.nativelib.DeviceEngine;
import io.jccl.nativelib.NativeEngine;
import io.jccl.parts.ChoiceTuner;
import io.jccl.parts.ConnectingDevice;
import io.jccl.parts.Extension;
import io.jccl.parts.InitContext;
import io.jccl.parts.SendForwarding;
import io.jccl.planning.CommunicatorPlan;
import io.jccl.planning.DeviceFacts;
import io.jccl.planning.Plan;
import io.jccl.planning.Planner;
import io.jccl.planning.PlanningOptions;
import io.jccl.tuning.AddedGpuAlgorithm;
import io.jccl.tuning.ChoiceTable;
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
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
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
    private final Map<Integer, String> apart;
    private final Connections connections;
    private final EngineConnector engines;
    private final Extension extension;
    private final ChoiceTuner tuner;
    private final SendForwarding forwarding;
    private final int rank;
    private Optional<NativeEngine> staging = Optional.empty();
    private List<DirectSlots.Use> slots = List.of();
    private boolean inPlace; // true if all ranks read and write each other's buffers; the same on all ranks
    private boolean stagedInsideAHost; // true if any two ranks of one host are staged; the same on all ranks

    /**
     * @param surveys the paths between the GPUs of this host and to its network devices
     * @param connections the connections between this rank's host memory and each peer's
     * @param engines connects engines of the host
     * @param extension adds algorithms of parts
     * @param tuner initialised for this communicator
     */
    DeviceConnector(
            InitContext context,
            Peers peers,
            Decisions decisions,
            Surveys surveys,
            Connections connections,
            EngineConnector engines,
            Extension extension,
            ChoiceTuner tuner) {
        this.context = context;
        this.settings = context.settings();
        this.peers = peers;
        this.planned = decisions.plan();
        this.plan = planned.onDevices();
        this.options = decisions.options();
        this.direct = surveys.direct();
        this.apart = surveys.apart();
        this.connections = connections;
        this.engines = engines;
        this.extension = extension;
        this.tuner = tuner;
        this.forwarding = Parts.forwarding(context);
        this.rank = context.rank();
    }

    /**
     * Checks that kernels can connect the ranks. All ranks call this, before they make anything.
     *
     * @throws DeviceException on all ranks if there are more ranks with GPUs than kernels can connect
     */
    static void check(InitContext context, Peers peers) {
        if (peers.anyHasDevice() && !StagedDevice.isUsed(context, peers)) {
            requireAtMost(DeviceConfig.MAX_RANKS, context.size());
        }
    }

    static void requireAtMost(int most, int size) {
        if (size > most) {
            throw new DeviceException(
                    "size=" + size + ": expected at most " + most + " ranks if they have GPUs; use fewer"
                            + " ranks, let the host execute operations on GPU memory ("
                            + TransportSettings.GPU_HOST_STAGING.name()
                            + "=on), or use host buffers and give no rank a GPU");
        }
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
        DeviceHandleExchange handles = new DeviceHandleExchange(context, peers, apart);
        DeviceEngine engine = DeviceEngine.create(config(ordinal, channels, handles));
        boolean connected = false;
        try {
            IntStream.range(0, context.size())
                    .filter(peer -> handles.keptApart(peer).isPresent())
                    .forEach(engine::setStaged);
            EngineConnector.setRingsAndTrees(engine, plan, channels, rank);
            ConnectingDevice device = new ConnectingDevice(engine, planned, channels, processes());
            extension.setUpDevice(device);
            placeSlots(engine, channels);
            connect(engine, handles.connect(engine), channels);
            List<AddedGpuAlgorithm> added = new ArrayList<>(extension.connectDevice(device, staging));
            boolean oneProcess =
                    staging.isEmpty() && processes().stream().distinct().count() == 1;
            engine.prepare(oneProcess, staging);
            context.barrier();
            Set<Protocol> protocols = testProtocols(engine);
            inPlace = oneProcess && allowsDirect() && testInPlace(engine);
            added.addAll(extension.completeDevice(device, staging));
            DeviceFacts facts = facts(channels, protocols, added);
            // made before `onRegistered`, so that errors list the smaller set of algorithms
            Choices choices = choices(facts);
            boolean registers = staging.isEmpty() && !oneProcess && allowsDirect();
            Optional<Choices> onRegistered =
                    registers ? Optional.of(choices(facts.withInPlace(true))) : Optional.empty();
            connected = true;
            return Optional.of(new ConnectedDevice(
                    ordinal, engine, staging, choices, inPlace, onRegistered, extension.windowSharings(device)));
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
        Set<Algorithm> conditional = EnumSet.noneOf(Algorithm.class);
        List<IntPredicate> conditions = new ArrayList<>();
        for (AddedGpuAlgorithm one : facts.added()) {
            one.condition().ifPresent(condition -> {
                conditional.add(one.algorithm());
                conditions.add(condition);
            });
        }
        if (conditional.isEmpty()) {
            return Choices.unconditional(all);
        }
        ChoiceTable unconditional = tuned(
                memory + " without " + conditional.stream().map(Enum::name).collect(Collectors.joining(", ")),
                Planner.deviceChoices(planned, facts.without(conditional), options.without(conditional)));
        return new Choices(all, unconditional, operation -> conditions.stream().allMatch(it -> it.test(operation)));
    }

    private ChoiceTable tuned(String memory, ChoiceTable table) {
        return peers.areTuned() ? tuner.tune(memory, table) : table;
    }

    /**
     * Connects through host memory to each peer whose GPU and this rank's GPU do not both reach each other's memory.
     */
    private void connect(DeviceEngine engine, DeviceHandleExchange.Reach reach, int channels) {
        if (reach.isWhole()) {
            return;
        }
        staging = Optional.of(engines.connectStaging(
                connections,
                plan,
                channels,
                host -> {
                    IntStream.range(0, context.size())
                            .filter(peer -> peer != rank)
                            .forEach(peer -> host.setStagedChannels(peer, engine));
                    giveSlots(engine, host);
                },
                (host, identities) -> forwarding.take(
                        engine, host, forwarder -> identities.get(forwarder).connectInfo(), reach::obstacle)));
        stagedInsideAHost = !reach.isWholeInsideHosts();
        Map<String, List<Integer>> staged = new LinkedHashMap<>();
        for (PeerTransport one : connections.transports()) {
            int peer = one.peer();
            if (!reach.together(rank, peer)) {
                boolean gpuDirect = engine.connectStaged(peer, staging.get(), one.kind());
                String how = one.kind().label() + (gpuDirect ? " (SIMPLE by GPUDirect RDMA)" : "");
                String reason = reach.obstacles().getOrDefault(peer, "the peer does not reach this rank's memory");
                staged.computeIfAbsent(how + ", " + reason, key -> new ArrayList<>())
                        .add(peer);
            }
        }
        staged.forEach((how, ranks) -> LOG.info(
                "rank={}: to the GPUs of ranks {} through memory of the host, by {}", rank, RankList.text(ranks), how));
        warnOfUnmapped(reach);
    }

    /**
     * Warns once for each host if processes cannot map the memory of each other's GPUs. The lowest rank that is
     * concerned warns.
     */
    private void warnOfUnmapped(DeviceHandleExchange.Reach reach) {
        List<Integer> concerned = IntStream.range(0, context.size())
                .filter(one ->
                        peers.sameHost(one, rank) && !reach.notMapped(one).isEmpty())
                .boxed()
                .toList();
        if (concerned.isEmpty() || concerned.get(0) != rank) {
            return;
        }
        List<Integer> unmapped = reach.notMapped(rank);
        LoggedOnce.warn(
                DeviceConnector.class,
                "ranks " + RankList.text(concerned)
                        + ": processes of one host cannot map the memory of each other's GPUs ("
                        + "rank=" + rank + " of rank=" + unmapped.get(0) + ": "
                        + reach.obstacle(unmapped.get(0)).orElseThrow()
                        + "), so data between these GPUs goes through host memory, at a fraction of the bandwidth of NVLink or"
                        + " PCI peer access, and neither registered buffers nor NVLS are used; run the ranks in one container,"
                        + " or give every container all GPUs of the host (--gpus all) and one namespace for network, IPC and"
                        + " processes (--network=host --ipc=host --pid=host), and choose the rank's GPU by JCCL_DEVICE");
    }

    /** Decides which connections over adapters have slots in memory of this rank's GPU or of a forwarder's. */
    private void placeSlots(DeviceEngine engine, int channels) {
        List<DirectSlots.Use> planned = DirectSlots.of(plan, channels, rank, direct, this::byAdapter);
        int max = settings.get(NetworkSettings.NET_GDR_BUFFSIZE) / settings.getForDevices(MemorySettings.BUFFSIZE);
        List<DirectSlots.Use> others =
                DirectSlots.others(plan, rank, direct, this::byAdapter, planned, engine::stagedChannels, max);
        slots = new ArrayList<>();
        List<SendForwarding.Send> forwarded = new ArrayList<>();
        for (List<DirectSlots.Use> uses : List.of(planned, others)) {
            for (DirectSlots.Use use : uses) {
                Integer forwarder = direct.forwarders().get(use.device());
                if (!use.sends() || forwarder == null) {
                    slots.add(use);
                } else if (!peers.sameHost(use.peer(), rank)) {
                    forwarded.add(new SendForwarding.Send(
                            forwarder, use.peer(), use.channel(), use.device(), uses == planned));
                }
            }
        }
        engine.setForwarded(plan.hosts().size() > 1 ? forwarding.agree(forwarded, peers::sameHost) : 0);
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
        forwarding.offer(engine, host);
    }

    private boolean byAdapter(int peer) {
        return connections.transports().stream()
                .anyMatch(one ->
                        one.peer() == peer && (one.kind() == TransportKind.IB || one.kind() == TransportKind.PLUGIN));
    }

    private List<String> processes() {
        return peers.all().stream().map(PeerInfo::process).toList();
    }

    private boolean allowsDirect() {
        return context.size() <= DeviceConfig.DIRECT_RANKS;
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

    /** Tests operations in place, which all ranks then use or not. Returns true if they bring the right data. */
    private boolean testInPlace(DeviceEngine engine) {
        int code = engine.testInPlace(context.left().toNanos());
        Optional<String> failure = engine.failure(code);
        List<byte[]> everybody = context.allGather(new byte[] {(byte) code});
        if (everybody.stream().allMatch(one -> one[0] == Code.OK)) {
            return true;
        }
        // a communicator one of whose operations did not end executes no others
        if (everybody.stream().anyMatch(one -> one[0] != Code.OK && one[0] != Code.TRANSPORT)) {
            throw new DeviceException("rank=" + rank
                    + ": operations in place on the buffers of other GPUs do not end, on"
                    + " this rank or another; set JCCL_P2P_DISABLE=1, or use host buffers. " + failure.orElse(""));
        }
        engine.renounceInPlace();
        failure.ifPresent(reason -> LOG.warn(
                "rank={}: the self-test of operations in place failed, so all ranks exchange data through slots: {}",
                rank,
                reason));
        return false;
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

    private DeviceFacts facts(int channels, Set<Protocol> protocols, List<AddedGpuAlgorithm> added) {
        List<PeerDevice> devices =
                peers.all().stream().map(peer -> peer.device().orElseThrow()).toList();
        IntSummaryStatistics capabilities =
                devices.stream().mapToInt(PeerDevice::capability).summaryStatistics();
        long ranksPerDevice = devices.stream().mapToLong(this::sharing).max().orElseThrow();
        return new DeviceFacts(
                channels,
                (int) ranksPerDevice,
                capabilities.getMin(),
                capabilities.getMax(),
                inPlace,
                stagedInsideAHost,
                DeviceFacts.trusted(protocols, staging.isPresent(), (int) ranksPerDevice, options),
                added);
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

    private DeviceConfig config(int ordinal, int channels, DeviceHandleExchange handles) {
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
        config.set(DeviceConfig.DESCRIPTORS, handles.needsDescriptors());
        config.set(DeviceConfig.HANDLES, handles.needsHandles());
        config.set(DeviceConfig.ONE_SHOT_BYTES, Planner.oneShotBytes(planned));
        config.set(DeviceConfig.RECORDED_OPERATIONS, settings.get(RecorderSettings.RECORDER_OPERATIONS));
        return config;
    }
}
