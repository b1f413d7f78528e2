package io.jccl.init;

import io.jccl.DeviceException;
import io.jccl.PeerTransport;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.bootstrap.Bootstrap;
import io.jccl.bootstrap.RankList;
import io.jccl.config.AlgorithmSettings;
import io.jccl.config.MemorySettings;
import io.jccl.config.Settings;
import io.jccl.nativelib.DeviceEngine;
import io.jccl.nativelib.NativeDeviceCommunicator;
import io.jccl.nativelib.NativeEngine;
import io.jccl.plan.Plan;
import io.jccl.plan.TreeLinks;
import io.jccl.tuning.ChoiceTable;
import io.jccl.tuning.CommunicatorShape.SlotBytes;
import io.jccl.tuning.DeviceModel;
import io.jccl.tuning.GpuShape;
import io.jccl.tuning.TuningOverrides;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Forms the part of a communicator that works on GPUs, where its ranks have one. */
final class DeviceFormation {

    private static final Logger LOG = LoggerFactory.getLogger(DeviceFormation.class);
    private static final int MOST_CHANNELS = 32;

    private final Settings settings;
    private final Bootstrap membership;
    private final List<PeerInfo> peers;
    private final Plan plan;
    private final List<PeerTransport> transports;
    private final Optional<GpuPlan> gpuPlan;
    private final StagingMaker stagingOf;
    private final int rank;
    private Optional<NativeEngine> staging = Optional.empty();
    private boolean stagedOnAMachine; // any pair of ranks of one machine; the same on all ranks

    /** Connects an engine of the host with a plan and so many channels; all ranks call it together. */
    interface StagingMaker {
        NativeEngine make(Plan plan, int channels, Consumer<NativeEngine> beforeConnecting);
    }

    /**
     * @param hostPlan rings and trees where there are none over the ranks' GPUs
     * @param transports what joins this rank's host memory to each peer's
     * @param stagingOf connects an engine of the host by these transports
     */
    DeviceFormation(
            Settings settings,
            Bootstrap membership,
            List<PeerInfo> peers,
            Plan hostPlan,
            Optional<GpuPlan> gpuPlan,
            List<PeerTransport> transports,
            StagingMaker stagingOf) {
        this.settings = settings;
        this.membership = membership;
        this.peers = peers;
        this.gpuPlan = gpuPlan;
        this.plan = gpuPlan.map(GpuPlan::plan).orElse(hostPlan);
        this.transports = transports;
        this.stagingOf = stagingOf;
        this.rank = membership.rank();
    }

    /**
     * Makes it, or nothing where no rank has a GPU.
     *
     * @param left how much time forming may still take
     * @throws DeviceException if only some ranks have one, or too many share one, or they cannot be connected
     */
    Optional<FormedDevice> form(Supplier<Duration> left) {
        if (!allHaveDevices()) {
            return Optional.empty();
        }
        int channels = channels();
        int ordinal = peers.get(rank).device().orElseThrow().ordinal();
        DeviceHandOver handOver = new DeviceHandOver(settings, membership, peers);
        DeviceEngine engine = DeviceEngine.create(config(ordinal, channels, handOver.wantsDescriptors()));
        boolean formed = false;
        try {
            peersElsewhere().forEach(engine::setStaged);
            setRingsAndTrees(engine, channels);
            connect(engine, handOver.connect(engine, left), channels);
            engine.prepare(inPlace(), staging);
            membership.outOfBand().barrier(left.get());
            ChoiceTable choices = choices(channels, testProtocols(engine, left));
            formed = true;
            return Optional.of(new FormedDevice(ordinal, engine, staging, choices));
        } finally {
            if (!formed) {
                engine.destroy();
                staging.ifPresent(NativeEngine::destroy);
            }
        }
    }

    private IntStream peersElsewhere() {
        return IntStream.range(0, peers.size()).filter(peer -> !sameHost(peer, rank));
    }

    private boolean sameHost(int one, int other) {
        return peers.get(one).hostId().equals(peers.get(other).hostId());
    }

    /** Connects through the host's memory where peers' own is not reached both ways. */
    private void connect(DeviceEngine engine, DeviceHandOver.Reach reach, int channels) {
        if (reach.isWhole()) {
            return;
        }
        boolean[][] missing = reach.all();
        staging = Optional.of(stagingOf.make(plan, channels, it -> giveSlots(engine, it, channels)));
        stagedOnAMachine = IntStream.range(0, missing.length).anyMatch(one -> IntStream.range(0, missing.length)
                .anyMatch(other -> missing[one][other] && sameHost(one, other)));
        Map<String, List<Integer>> staged = new LinkedHashMap<>();
        for (PeerTransport one : transports) {
            int peer = one.peer();
            if (missing[rank][peer] || missing[peer][rank]) {
                boolean direct =
                        engine.connectStaged(peer, staging.get(), one.kind().isNetwork());
                String how = one.kind().label() + (direct ? " (SIMPLE by GPUDirect RDMA)" : "");
                String reason = reach.obstacles().getOrDefault(peer, "it does not reach this rank's memory");
                staged.computeIfAbsent(how + ", " + reason, key -> new ArrayList<>())
                        .add(peer);
            }
        }
        staged.forEach((how, ranks) -> LOG.info(
                "rank={}: to the GPUs of ranks {} through memory of the host, by {}", rank, RankList.text(ranks), how));
    }

    /** Slots in memory of the GPU, for connections by adapters that may use it. */
    private void giveSlots(DeviceEngine engine, NativeEngine host, int channels) {
        DirectSlots.Devices devices = gpuPlan.map(GpuPlan::direct).orElse(DirectSlots.Devices.NONE);
        List<DirectSlots.Use> uses = DirectSlots.of(plan, channels, rank, devices, this::byAdapter);
        if (uses.isEmpty()) {
            return;
        }
        engine.makeDeviceSlots(uses.size())
                .ifPresentOrElse(
                        slots -> host.useDeviceSlots(slots, DirectSlots.rows(uses)),
                        () -> LOG.warn(
                                "rank={}: no GPUDirect RDMA for connections={}: {}",
                                rank,
                                uses.size(),
                                engine.lastError()));
    }

    private boolean byAdapter(int peer) {
        return transports.stream().anyMatch(one -> one.peer() == peer && one.kind() == TransportKind.IB);
    }

    private boolean inPlace() {
        return staging.isEmpty()
                && peers.stream().map(PeerInfo::process).distinct().count() == 1;
    }

    /** Those with which data comes over every connection as it was sent, on all ranks. */
    private Set<Protocol> testProtocols(DeviceEngine engine, Supplier<Duration> left) {
        byte[] passed = new byte[Protocol.values().length];
        StringBuilder reasons = new StringBuilder();
        for (Protocol protocol : Protocol.values()) {
            Optional<String> failure =
                    engine.selfTest(protocol.ordinal(), left.get().toNanos());
            passed[protocol.ordinal()] = (byte) (failure.isEmpty() ? 1 : 0);
            failure.ifPresent(reason ->
                    reasons.append(protocol.label()).append(": ").append(reason).append(' '));
        }
        if (!reasons.isEmpty()) {
            LOG.warn("rank={}: the self-test of connections failed, {}", rank, reasons);
        }
        Set<Protocol> all = EnumSet.allOf(Protocol.class);
        List<byte[]> everybody = membership.outOfBand().allGather(passed, left.get());
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
                            + " was sent, on this rank or another; use host buffers, and look at the GPUs with nvidia-smi. "
                            + reasons);
        }
        return all;
    }

    private ChoiceTable choices(int channels, Set<Protocol> protocols) {
        List<DeviceEndpoint> devices =
                peers.stream().map(peer -> peer.device().orElseThrow()).toList();
        long sharing = devices.stream()
                .mapToLong(device -> devices.stream()
                        .filter(other -> other.uuid().equals(device.uuid()))
                        .count())
                .max()
                .orElseThrow();
        if (staging.isPresent() && !settings.get(AlgorithmSettings.LL128).equals("force")) {
            protocols.remove(Protocol.LL128); // lines may come apart on the way to the host's memory
        }
        SlotBytes slots = SlotBytes.of(settings);
        GpuShape shape = gpuPlan.map(
                        it -> GpuShape.of(it.plan(), it.traits(), slots).withChannels(channels))
                .orElseGet(() -> DeviceModel.assumedShape(
                        peers.size(),
                        channels,
                        plan.treeDepth(0),
                        (int) sharing,
                        devices.stream()
                                .mapToInt(DeviceEndpoint::capability)
                                .min()
                                .orElseThrow(),
                        devices.stream()
                                .mapToInt(DeviceEndpoint::capability)
                                .max()
                                .orElseThrow(),
                        slots));
        if (stagedOnAMachine) {
            shape = shape.throughHost(DeviceModel.HOST_LINK_GBPS);
        }
        TuningOverrides overrides = TuningOverrides.of(settings);
        return ChoiceTable.build(new DeviceModel(shape, (int) sharing, inPlace(), protocols, overrides), overrides);
    }

    private boolean allHaveDevices() {
        List<Integer> with = IntStream.range(0, peers.size())
                .filter(peer -> peers.get(peer).device().isPresent())
                .boxed()
                .toList();
        if (!with.isEmpty() && with.size() < peers.size()) {
            throw new DeviceException("ranks=" + with + " of " + peers.size()
                    + " have a GPU: expected all ranks or none; give every rank one with CommunicatorConfig.device or"
                    + " JCCL_DEVICE");
        }
        return !with.isEmpty();
    }

    /** As many as fit beside those of all ranks that share a device: a block that is not resident would be waited for. */
    private int channels() {
        int fewest = MOST_CHANNELS;
        for (int peer = 0; peer < peers.size(); peer++) {
            DeviceEndpoint device = peers.get(peer).device().orElseThrow();
            long sharing = peers.stream()
                    .filter(other -> other.device().orElseThrow().uuid().equals(device.uuid()))
                    .count();
            int each = (int) (device.blocks() / sharing);
            if (each == 0) {
                throw new DeviceException("device=" + device.ordinal() + " of rank=" + peer + " ranks=" + sharing
                        + " blocks=" + device.blocks()
                        + ": more ranks share this GPU than blocks of their kernels run on"
                        + " it at the same time; use at most " + device.blocks() + " ranks a GPU, or fewer threads"
                        + " (JCCL_NTHREADS)");
            }
            fewest = Math.min(fewest, each);
        }
        if (gpuPlan.isPresent()) {
            fewest = Math.min(fewest, plan.channels());
        }
        int most = settings.get(AlgorithmSettings.MAX_NCHANNELS);
        return most == 0 ? fewest : Math.min(most, fewest);
    }

    private long[] config(int ordinal, int channels, boolean descriptors) {
        long[] config = new long[NativeDeviceCommunicator.CONFIG_LENGTH];
        config[NativeDeviceCommunicator.RANK] = rank;
        config[NativeDeviceCommunicator.SIZE] = membership.size();
        config[NativeDeviceCommunicator.CHANNELS] = channels;
        config[NativeDeviceCommunicator.DEVICE] = ordinal;
        config[NativeDeviceCommunicator.THREADS] = DeviceEndpoint.threads(settings);
        config[NativeDeviceCommunicator.SIMPLE_SLOT_BYTES] = SlotBytes.memory(settings.get(MemorySettings.BUFFSIZE));
        config[NativeDeviceCommunicator.LL_SLOT_BYTES] = SlotBytes.memory(settings.get(MemorySettings.LL_BUFFSIZE));
        config[NativeDeviceCommunicator.LL128_SLOT_BYTES] =
                SlotBytes.memory(settings.get(MemorySettings.LL128_BUFFSIZE));
        ByteBuffer id = ByteBuffer.wrap(membership.sessionId());
        config[NativeDeviceCommunicator.COMM_ID_HI] = id.getLong();
        config[NativeDeviceCommunicator.COMM_ID_LO] = id.getLong();
        config[NativeDeviceCommunicator.DESCRIPTORS] = descriptors ? 1 : 0;
        return config;
    }

    /** There may be more channels than the plan has: each further one runs beside one of these. */
    private void setRingsAndTrees(DeviceEngine engine, int channels) {
        for (int channel = 0; channel < channels; channel++) {
            int like = channel % plan.channels();
            engine.setRing(channel, plan.ring(like));
            TreeLinks links = plan.tree(like, rank);
            engine.setTree(channel, links.up(), links.downRanks());
        }
    }
}
