package io.jccl.init;

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

    private static byte[] sha256(byte[] bytes) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(bytes);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("SHA-256 is part of every JDK", e);
        }
    }
}
