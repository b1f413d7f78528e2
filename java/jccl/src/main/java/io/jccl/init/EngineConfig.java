package io.jccl.init;

import io.jccl.TransportKind;
import io.jccl.bootstrap.Bootstrap;
import io.jccl.config.Registry;
import io.jccl.config.Settings;
import io.jccl.nativelib.NativeCommunicator;
import io.jccl.tuning.CommunicatorShape.SlotBytes;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** What the native engine must know, in the layout that it expects. */
final class EngineConfig {

    private EngineConfig() {}

    static long[] of(Settings settings, Bootstrap membership, int channels, int localRanks, int cores) {
        long[] config = new long[NativeCommunicator.CONFIG_LENGTH];
        config[NativeCommunicator.RANK] = membership.rank();
        config[NativeCommunicator.SIZE] = membership.size();
        config[NativeCommunicator.CHANNELS] = channels;
        config[NativeCommunicator.SIMPLE_SLOT_BYTES] = SlotBytes.memory(settings.get(Registry.BUFFSIZE));
        config[NativeCommunicator.LL_SLOT_BYTES] = SlotBytes.memory(settings.get(Registry.LL_BUFFSIZE));
        config[NativeCommunicator.LL128_SLOT_BYTES] = SlotBytes.memory(settings.get(Registry.LL128_BUFFSIZE));
        config[NativeCommunicator.LOCAL_RANKS] = localRanks;
        config[NativeCommunicator.CORES] = cores;
        config[NativeCommunicator.SPIN_NANOS] = settings.get(Registry.SPIN_NANOS);
        config[NativeCommunicator.SPREAD_RANKS] = settings.get(Registry.SPREAD_RANKS) ? 1 : 0;
        config[NativeCommunicator.STREAMS_PER_CONNECTION] = settings.get(Registry.NSOCKS_PERTHREAD);
        addIb(settings, config);
        config[NativeCommunicator.CONNECT_TIMEOUT_NANOS] =
                settings.get(Registry.INIT_TIMEOUT).toNanos();
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

    /** Verbs are tried unless a setting forbids them or asks for another transport. */
    private static void addIb(Settings settings, long[] config) {
        boolean wanted = settings.get(Registry.TRANSPORT)
                .map(kind -> kind == TransportKind.IB)
                .orElse(true);
        config[NativeCommunicator.IB_USED] = wanted && !settings.get(Registry.IB_DISABLE) ? 1 : 0;
        config[NativeCommunicator.IB_GID_INDEX] = settings.get(Registry.IB_GID_INDEX);
        config[NativeCommunicator.IB_ROCE_VERSION] = settings.get(Registry.IB_ROCE_VERSION_NUM);
        config[NativeCommunicator.IB_IPV6] =
                settings.get(Registry.IB_ADDR_FAMILY).equals("AF_INET6") ? 1 : 0;
        config[NativeCommunicator.IB_TIMEOUT] = settings.get(Registry.IB_TIMEOUT);
        config[NativeCommunicator.IB_RETRY_COUNT] = settings.get(Registry.IB_RETRY_CNT);
        config[NativeCommunicator.IB_TRAFFIC_CLASS] = settings.get(Registry.IB_TC);
        config[NativeCommunicator.IB_SERVICE_LEVEL] = settings.get(Registry.IB_SL);
        config[NativeCommunicator.IB_PKEY_INDEX] = settings.get(Registry.IB_PKEY);
        config[NativeCommunicator.IB_QUEUE_PAIRS] = settings.get(Registry.IB_QPS_PER_CONNECTION);
        config[NativeCommunicator.IB_SPLIT_DATA] = settings.get(Registry.IB_SPLIT_DATA_ON_QPS) ? 1 : 0;
        config[NativeCommunicator.IB_RELAXED_ORDERING] = settings.get(Registry.IB_PCI_RELAXED_ORDERING) ? 1 : 0;
    }

    /** The texts that go with {@link #of}. */
    static String[] texts(Settings settings) {
        String[] texts = new String[NativeCommunicator.TEXTS_LENGTH];
        texts[NativeCommunicator.TEXT_IB_LIBRARY] = settings.get(Registry.IB_LIBRARY);
        texts[NativeCommunicator.TEXT_IB_HCA] = settings.get(Registry.IB_HCA);
        return texts;
    }

    private static byte[] sha256(byte[] bytes) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(bytes);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("SHA-256 is part of every JDK", e);
        }
    }
}
