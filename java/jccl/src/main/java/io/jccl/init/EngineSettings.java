package io.jccl.init;

import io.jccl.config.IbSettings;
import io.jccl.config.MemorySettings;
import io.jccl.config.RecorderSettings;
import io.jccl.config.Setting;
import io.jccl.config.Settings;
import io.jccl.config.TimeSettings;
import io.jccl.membership.GroupIdentity;
import io.jccl.nativelib.EngineConfig;
import io.jccl.topology.NetPlugin;
import io.jccl.topology.Node;
import io.jccl.topology.NodeType;
import io.jccl.topology.Processors;
import io.jccl.topology.Topology;
import io.jccl.tuning.CommunicatorShape.SlotBytes;
import io.jccl.tuning.SocketStreams;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.ToIntFunction;

/** Makes the configuration of native engines from settings and from what ranks know of each other. */
final class EngineSettings {

    private EngineSettings() {}

    /**
     * Makes the configuration of a communicator's engine.
     *
     * @param texts configuration with the texts of {@link #texts}; not changed
     */
    static EngineConfig of(
            EngineConfig texts,
            Settings settings,
            GroupIdentity group,
            int channels,
            SocketStreams streams,
            Peers peers) {
        int rank = group.rank();
        List<Processors> sharing = peers.processorsSharedWith(rank);
        EngineConfig config = texts.copy();
        config.set(EngineConfig.RANK, rank);
        config.set(EngineConfig.SIZE, group.size());
        config.set(EngineConfig.CHANNELS, channels);
        addSlots(settings::get, config);
        config.set(EngineConfig.LOCAL_RANKS, peers.ranksOfHost(rank).size());
        config.set(EngineConfig.CORES, peers.coresOfHost(rank));
        config.set(EngineConfig.SHARING_RANKS, sharing.size());
        config.set(EngineConfig.SHARED_CORES, Processors.together(sharing));
        config.set(EngineConfig.SPIN_NANOS, settings.get(TimeSettings.SPIN_NANOS));
        config.set(EngineConfig.RANK_PLACEMENT, settings.get(TimeSettings.RANK_PLACEMENT));
        config.set(EngineConfig.STREAMS_PER_CONNECTION, streams.connections());
        config.set(EngineConfig.SOCKET_THREADS, streams.threads());
        config.set(EngineConfig.ENCRYPTED, peers.encryptData());
        addIb(settings, config);
        config.set(
                EngineConfig.CONNECT_TIMEOUT_NANOS,
                settings.get(TimeSettings.INIT_TIMEOUT).toNanos());
        config.set(EngineConfig.PEER_TIMEOUT_NANOS, peerTimeout(settings).toNanos());
        config.set(EngineConfig.RECORDED_OPERATIONS, settings.get(RecorderSettings.RECORDER_OPERATIONS));
        ByteBuffer id = ByteBuffer.wrap(group.sessionId());
        config.set(EngineConfig.COMM_ID_HI, id.getLong());
        config.set(EngineConfig.COMM_ID_LO, id.getLong());
        ByteBuffer key = ByteBuffer.wrap(sha256(group.dataKey()));
        config.set(EngineConfig.SECRET_0, key.getLong());
        config.set(EngineConfig.SECRET_1, key.getLong());
        config.set(EngineConfig.SECRET_2, key.getLong());
        config.set(EngineConfig.SECRET_3, key.getLong());
        return config;
    }

    /**
     * Returns the time after which a connection fails if the peer's host acknowledges nothing. This time is shorter
     * than the heartbeat time-out, because the connection's error says more than "silent".
     */
    static Duration peerTimeout(Settings settings) {
        return settings.get(TimeSettings.HEARTBEAT_TIMEOUT).multipliedBy(3).dividedBy(4);
    }

    /** Makes the configuration of a communicator's second engine, which stages for GPUs and has slots of their size. */
    static EngineConfig forStaging(EngineConfig config, Settings settings) {
        EngineConfig second = config.copy();
        second.set(EngineConfig.COMM_ID_LO, ~config.get(EngineConfig.COMM_ID_LO));
        addSlots(settings::getForDevices, second);
        return second;
    }

    private static void addSlots(ToIntFunction<Setting<Integer>> memory, EngineConfig config) {
        config.set(EngineConfig.SIMPLE_SLOT_BYTES, SlotBytes.memory(memory.applyAsInt(MemorySettings.BUFFSIZE)));
        config.set(EngineConfig.LL_SLOT_BYTES, SlotBytes.memory(memory.applyAsInt(MemorySettings.LL_BUFFSIZE)));
        config.set(EngineConfig.LL128_SLOT_BYTES, SlotBytes.memory(memory.applyAsInt(MemorySettings.LL128_BUFFSIZE)));
    }

    private static void addIb(Settings settings, EngineConfig config) {
        config.set(EngineConfig.IB_USED, IbSettings.tried(settings));
        config.set(EngineConfig.IB_GID_INDEX, settings.get(IbSettings.IB_GID_INDEX));
        config.set(EngineConfig.IB_ROCE_VERSION, settings.get(IbSettings.IB_ROCE_VERSION_NUM));
        config.set(EngineConfig.IB_IPV6, settings.get(IbSettings.IB_ADDR_FAMILY).equals("AF_INET6"));
        config.set(EngineConfig.IB_TIMEOUT, settings.get(IbSettings.IB_TIMEOUT));
        config.set(EngineConfig.IB_RETRY_COUNT, settings.get(IbSettings.IB_RETRY_CNT));
        config.set(EngineConfig.IB_TRAFFIC_CLASS, settings.get(IbSettings.IB_TC));
        config.set(EngineConfig.IB_SERVICE_LEVEL, settings.get(IbSettings.IB_SL));
        config.set(EngineConfig.IB_PKEY_INDEX, settings.get(IbSettings.IB_PKEY));
        config.set(EngineConfig.IB_QUEUE_PAIRS, settings.get(IbSettings.IB_QPS_PER_CONNECTION));
        config.set(EngineConfig.IB_SPLIT_DATA, settings.get(IbSettings.IB_SPLIT_DATA_ON_QPS));
        config.set(EngineConfig.IB_RELAXED_ORDERING, settings.get(IbSettings.IB_PCI_RELAXED_ORDERING));
    }

    /**
     * Makes a configuration that has texts only.
     *
     * @param communicator name of the communicator
     * @param plugin the network plug-in to offer
     * @param topology of this host, whose network devices have the numbers of the plan
     */
    static EngineConfig texts(Settings settings, String communicator, Optional<NetPlugin> plugin, Topology topology) {
        EngineConfig texts = new EngineConfig();
        texts.setText(EngineConfig.TEXT_IB_LIBRARY, settings.get(IbSettings.IB_LIBRARY));
        texts.setText(EngineConfig.TEXT_IB_HCA, settings.get(IbSettings.IB_HCA));
        texts.setText(EngineConfig.TEXT_NET_DEVICES, netDevices(topology));
        texts.setText(EngineConfig.TEXT_NET_PLUGIN, plugin.map(NetPlugin::file).orElse(""));
        texts.setText(EngineConfig.TEXT_COMMUNICATOR, communicator);
        return texts;
    }

    /** Lists the numbers of network devices. A port of an adapter has two names: its own, and that of its interface. */
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
