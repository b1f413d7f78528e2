package io.jccl.init;

import io.jccl.bootstrap.Bootstrap;
import io.jccl.config.IbSettings;
import io.jccl.config.MemorySettings;
import io.jccl.config.NetworkSettings;
import io.jccl.config.RecorderSettings;
import io.jccl.config.Setting;
import io.jccl.config.Settings;
import io.jccl.config.TimeSettings;
import io.jccl.nativelib.NativeCommunicator;
import io.jccl.topology.NetPlugin;
import io.jccl.topology.Node;
import io.jccl.topology.NodeType;
import io.jccl.topology.Processors;
import io.jccl.topology.Topology;
import io.jccl.tuning.CommunicatorShape.SlotBytes;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.ToIntFunction;

/** What the native engine must know, in the layout that it expects. */
final class EngineConfig {

    private EngineConfig() {}

    static long[] of(Settings settings, Bootstrap membership, int channels, Peers peers) {
        int rank = membership.rank();
        List<Processors> sharing = peers.processorsSharedWith(rank);
        long[] config = new long[NativeCommunicator.CONFIG_LENGTH];
        config[NativeCommunicator.RANK] = rank;
        config[NativeCommunicator.SIZE] = membership.size();
        config[NativeCommunicator.CHANNELS] = channels;
        addSlots(settings::get, config);
        config[NativeCommunicator.LOCAL_RANKS] = peers.ranksOfHost(rank).size();
        config[NativeCommunicator.CORES] = peers.coresOfHost(rank);
        config[NativeCommunicator.SHARING_RANKS] = sharing.size();
        config[NativeCommunicator.SHARED_CORES] = Processors.together(sharing);
        config[NativeCommunicator.SPIN_NANOS] = settings.get(TimeSettings.SPIN_NANOS);
        config[NativeCommunicator.RANK_PLACEMENT] = settings.get(TimeSettings.RANK_PLACEMENT) ? 1 : 0;
        config[NativeCommunicator.STREAMS_PER_CONNECTION] = NetworkSettings.streamsPerConnection(settings);
        config[NativeCommunicator.SOCKET_THREADS] = settings.get(NetworkSettings.SOCKET_NTHREADS);
        addIb(settings, config);
        config[NativeCommunicator.CONNECT_TIMEOUT_NANOS] =
                settings.get(TimeSettings.INIT_TIMEOUT).toNanos();
        config[NativeCommunicator.PEER_TIMEOUT_NANOS] = peerTimeout(settings).toNanos();
        config[NativeCommunicator.RECORDED_OPERATIONS] = settings.get(RecorderSettings.RECORDER_OPERATIONS);
        ByteBuffer id = ByteBuffer.wrap(membership.sessionId());
        config[NativeCommunicator.COMM_ID_HI] = id.getLong();
        config[NativeCommunicator.COMM_ID_LO] = id.getLong();
        ByteBuffer key = ByteBuffer.wrap(sha256(membership.secret()));
        config[NativeCommunicator.SECRET_0] = key.getLong();
        config[NativeCommunicator.SECRET_1] = key.getLong();
        config[NativeCommunicator.SECRET_2] = key.getLong();
        config[NativeCommunicator.SECRET_3] = key.getLong();
        return config;
    }

    /**
     * How long a host may acknowledge nothing before its connections fail: some time before the coordinator gives up
     * the silent rank, because the connection's error says more.
     */
    static Duration peerTimeout(Settings settings) {
        return settings.get(TimeSettings.HEARTBEAT_TIMEOUT).multipliedBy(3).dividedBy(4);
    }

    /** The same for a second engine beside the one of this communicator, whose slots are those of GPUs. */
    static long[] forStaging(long[] config, Settings settings) {
        long[] second = config.clone();
        second[NativeCommunicator.COMM_ID_LO] = ~config[NativeCommunicator.COMM_ID_LO];
        addSlots(settings::getForDevices, second);
        return second;
    }

    private static void addSlots(ToIntFunction<Setting<Integer>> memory, long[] config) {
        config[NativeCommunicator.SIMPLE_SLOT_BYTES] = SlotBytes.memory(memory.applyAsInt(MemorySettings.BUFFSIZE));
        config[NativeCommunicator.LL_SLOT_BYTES] = SlotBytes.memory(memory.applyAsInt(MemorySettings.LL_BUFFSIZE));
        config[NativeCommunicator.LL128_SLOT_BYTES] =
                SlotBytes.memory(memory.applyAsInt(MemorySettings.LL128_BUFFSIZE));
    }

    private static void addIb(Settings settings, long[] config) {
        config[NativeCommunicator.IB_USED] = IbSettings.tried(settings) ? 1 : 0;
        config[NativeCommunicator.IB_GID_INDEX] = settings.get(IbSettings.IB_GID_INDEX);
        config[NativeCommunicator.IB_ROCE_VERSION] = settings.get(IbSettings.IB_ROCE_VERSION_NUM);
        config[NativeCommunicator.IB_IPV6] =
                settings.get(IbSettings.IB_ADDR_FAMILY).equals("AF_INET6") ? 1 : 0;
        config[NativeCommunicator.IB_TIMEOUT] = settings.get(IbSettings.IB_TIMEOUT);
        config[NativeCommunicator.IB_RETRY_COUNT] = settings.get(IbSettings.IB_RETRY_CNT);
        config[NativeCommunicator.IB_TRAFFIC_CLASS] = settings.get(IbSettings.IB_TC);
        config[NativeCommunicator.IB_SERVICE_LEVEL] = settings.get(IbSettings.IB_SL);
        config[NativeCommunicator.IB_PKEY_INDEX] = settings.get(IbSettings.IB_PKEY);
        config[NativeCommunicator.IB_QUEUE_PAIRS] = settings.get(IbSettings.IB_QPS_PER_CONNECTION);
        config[NativeCommunicator.IB_SPLIT_DATA] = settings.get(IbSettings.IB_SPLIT_DATA_ON_QPS) ? 1 : 0;
        config[NativeCommunicator.IB_RELAXED_ORDERING] = settings.get(IbSettings.IB_PCI_RELAXED_ORDERING) ? 1 : 0;
    }

    /**
     * The texts that go with {@link #of}.
     *
     * @param communicator its name
     * @param plugin the network plug-in to offer
     * @param topology of this host, whose network devices have the numbers of the plan
     */
    static String[] texts(Settings settings, String communicator, Optional<NetPlugin> plugin, Topology topology) {
        String[] texts = new String[NativeCommunicator.TEXTS_LENGTH];
        texts[NativeCommunicator.TEXT_IB_LIBRARY] = settings.get(IbSettings.IB_LIBRARY);
        texts[NativeCommunicator.TEXT_IB_HCA] = settings.get(IbSettings.IB_HCA);
        texts[NativeCommunicator.TEXT_NET_DEVICES] = netDevices(topology);
        texts[NativeCommunicator.TEXT_NET_PLUGIN] = plugin.map(NetPlugin::file).orElse("");
        texts[NativeCommunicator.TEXT_COMMUNICATOR] = communicator;
        return texts;
    }

    /** A port of an adapter is known by two names: its own, and the one of its interface. */
    static String netDevices(Topology topology) {
        StringBuilder lines = new StringBuilder();
        for (int index : topology.indexesOf(NodeType.NET)) {
            Node.Net net = (Node.Net) topology.node(index);
            if (!net.device().isEmpty()) {
                line(lines, net.dev(), net.device());
                line(lines, net.dev(), net.device() + ":" + Math.max(1, net.port()));
            }
            if (!net.netInterface().isEmpty()) {
                line(lines, net.dev(), net.netInterface());
            }
        }
        return lines.toString();
    }

    private static void line(StringBuilder lines, int number, String name) {
        lines.append(number).append(' ').append(name).append('\n');
    }

    private static byte[] sha256(byte[] bytes) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(bytes);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("SHA-256 is part of every JDK", e);
        }
    }
}
