package io.jccl.init;

import io.jccl.BootstrapException;
import io.jccl.plan.RankChannels;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * A rank's search result as bytes: the network's bandwidth, then {@code lists, then per list its length and ranks}, once for
 * rings and once for trees.
 */
final class ChannelsCodec {

    private ChannelsCodec() {}

    static byte[] encode(LocalTopology.Found found) {
        RankChannels channels = found.channels();
        ByteBuffer out =
                ByteBuffer.allocate(Double.BYTES + bytes(channels.ringOrders()) + bytes(channels.treeOrders()));
        out.putDouble(found.netGBps());
        put(out, channels.ringOrders());
        put(out, channels.treeOrders());
        return out.array();
    }

    private static int bytes(List<List<Integer>> orders) {
        return 4 + orders.stream().mapToInt(order -> 4 + 4 * order.size()).sum();
    }

    private static void put(ByteBuffer out, List<List<Integer>> orders) {
        out.putInt(orders.size());
        for (List<Integer> order : orders) {
            out.putInt(order.size());
            order.forEach(out::putInt);
        }
    }

    /** Reads what {@link #encode} wrote on rank {@code rank}. */
    static LocalTopology.Found decode(int rank, String hostId, byte[] bytes) {
        try {
            ByteBuffer in = ByteBuffer.wrap(bytes);
            double netGBps = in.getDouble();
            if (!(netGBps > 0) || Double.isInfinite(netGBps)) {
                throw new IllegalArgumentException("netGBps=" + netGBps);
            }
            return new LocalTopology.Found(new RankChannels(rank, hostId, orders(in), orders(in)), netGBps);
        } catch (BufferUnderflowException | IllegalArgumentException e) {
            throw new BootstrapException(
                    "rank=" + rank + " bytes=" + bytes.length
                            + ": sent channels that make no sense; use the same JCCL version on all ranks",
                    e);
        }
    }

    private static List<List<Integer>> orders(ByteBuffer in) {
        int lists = length(in);
        List<List<Integer>> orders = new ArrayList<>(lists);
        for (int i = 0; i < lists; i++) {
            int length = length(in);
            List<Integer> order = new ArrayList<>(length);
            for (int j = 0; j < length; j++) {
                order.add(in.getInt());
            }
            orders.add(order);
        }
        return orders;
    }

    private static int length(ByteBuffer in) {
        int length = in.getInt();
        if (length < 0 || length > in.remaining() / 4) {
            throw new IllegalArgumentException("length=" + length + " remaining=" + in.remaining());
        }
        return length;
    }
}
