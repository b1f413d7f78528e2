package io.jccl;

import io.jccl.internal.Arguments;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Exchanges byte arrays whose lengths only their senders know. */
final class ByteArrays {

    /**
     * Size of the broadcast that carries the length and the first bytes. It takes about as long as one of the length
     * alone.
     */
    private static final int FIRST_BYTES = 1024;

    private ByteArrays() {}

    /**
     * See {@link Communicator#broadcastBytes}. The length and the first bytes travel in one broadcast; a second one
     * follows only if more bytes remain.
     */
    static byte[] broadcast(Communicator communicator, byte @Nullable [] value, int root) {
        boolean isRoot = communicator.rank() == root;
        if (isRoot) {
            Arguments.required("value", value, "the bytes that the root sends");
        }
        byte[] first = new byte[FIRST_BYTES];
        ByteBuffer head = ByteBuffer.wrap(first).order(ByteOrder.nativeOrder());
        int room = FIRST_BYTES - Integer.BYTES;
        if (isRoot) {
            head.putInt(value.length).put(value, 0, Math.min(room, value.length));
        }
        communicator.broadcast(DataBuffer.of(first), root).await();
        int length = head.getInt(0);
        byte[] result = isRoot ? value : new byte[length];
        head.position(Integer.BYTES).get(result, 0, Math.min(room, length));
        if (length > room) {
            ByteBuffer rest = ByteBuffer.wrap(result, room, length - room).order(ByteOrder.nativeOrder());
            communicator.broadcast(DataBuffer.of(rest), root).await();
        }
        return result;
    }

    /** See {@link Communicator#allGatherBytes}. */
    static List<byte[]> allGather(Communicator communicator, byte[] value) {
        Arguments.required("value", value, "the bytes of this rank; an array of none is allowed");
        int size = communicator.size();
        long[] lengths = new long[size];
        communicator
                .allGather(DataBuffer.of(new long[] {value.length}), DataBuffer.of(lengths))
                .await();
        long total = 0;
        for (long length : lengths) {
            total += length;
        }
        List<byte[]> values = new ArrayList<>(size);
        try (HostBuffer all = HostBuffer.allocate(Math.max(1, total))) {
            if (total != 0) {
                communicator
                        .allGatherV(DataBuffer.of(value), all.slice(0, total, DataType.INT8), lengths)
                        .await();
            }
            long at = 0;
            for (long length : lengths) {
                byte[] one = new byte[(int) length];
                all.asByteBuffer(at, one.length).get(one);
                values.add(one);
                at += length;
            }
        }
        return values;
    }
}
