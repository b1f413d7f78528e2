package io.jccl.init;

import io.jccl.BootstrapException;
import io.jccl.plan.FoundChannels;
import io.jccl.plan.PlanOptions;
import io.jccl.plan.Rail;
import io.jccl.plan.RankChannels;
import io.jccl.plan.TreeShape;
import io.jccl.topology.PathType;
import io.jccl.tuning.MachineTraits;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A rank's search result as bytes.
 *
 * <pre>
 * f64 netGBps │ u8 gpu │ u8 treeShape │ u16 minCapability │ u16 maxCapability │ u8 amd │ rings │ trees
 *
 * rings, trees:  f64 bwIntra │ f64 bwInter │ u8 typeIntra │ u8 typeInter │ u8 crossNic │ u8 withRails │ u8 orders
 *                per order: i32 ranks, as many as the machine has │ withRails: i32 in │ i32 out
 * </pre>
 *
 * <p>Only the lowest rank of a machine sends orders: the plan takes no other's.
 */
final class ChannelsCodec {

    private static final int HEAD_BYTES = 8 + 1 + 1 + 2 + 2 + 1;
    private static final int GRAPH_BYTES = 8 + 8 + 5;

    private ChannelsCodec() {}

    /**
     * Writes what a rank found.
     *
     * @param lowest whether it is the lowest rank of its machine
     */
    static byte[] encode(LocalTopology.Found found, boolean lowest) {
        RankChannels channels = found.channels();
        FoundChannels rings = lowest ? channels.rings() : channels.rings().withoutOrders();
        FoundChannels trees = lowest ? channels.trees() : channels.trees().withoutOrders();
        ByteBuffer out = ByteBuffer.allocate(HEAD_BYTES + bytes(rings) + bytes(trees));
        out.putDouble(found.netGBps());
        putFlag(out, channels.gpu());
        out.put((byte) channels.treeShape().ordinal());
        MachineTraits traits = found.traits();
        out.putShort((short) traits.minCapability()).putShort((short) traits.maxCapability());
        putFlag(out, traits.amdProcessors());
        put(out, rings);
        put(out, trees);
        return out.array();
    }

    private static int bytes(FoundChannels found) {
        int ranks = found.orders().isEmpty() ? 0 : found.orders().get(0).size();
        int each = 4 * ranks + (found.rails().isEmpty() ? 0 : 8);
        return GRAPH_BYTES + each * found.orders().size();
    }

    private static void put(ByteBuffer out, FoundChannels found) {
        out.putDouble(found.bwIntra());
        out.putDouble(found.bwInter());
        out.put((byte) found.typeIntra().ordinal());
        out.put((byte) found.typeInter().ordinal());
        putFlag(out, found.crossNic());
        putFlag(out, !found.rails().isEmpty());
        out.put((byte) found.orders().size());
        for (int channel = 0; channel < found.orders().size(); channel++) {
            found.orders().get(channel).forEach(out::putInt);
            if (!found.rails().isEmpty()) {
                Rail rail = found.rails().get(channel);
                out.putInt(rail.in()).putInt(rail.out());
            }
        }
    }

    private static void putFlag(ByteBuffer out, boolean flag) {
        out.put((byte) (flag ? 1 : 0));
    }

    /**
     * Reads what {@link #encode} wrote on rank {@code rank}, and checks it against what this rank knows of that one.
     *
     * @param machine the ranks of that rank's machine, ascending
     * @throws BootstrapException if the bytes mean no search result of that machine
     */
    static LocalTopology.Found decode(int rank, String hostId, List<Integer> machine, byte[] bytes) {
        try {
            ByteBuffer in = ByteBuffer.wrap(bytes);
            double netGBps = in.getDouble();
            if (!(netGBps > 0) || Double.isInfinite(netGBps)) {
                throw new IllegalArgumentException("netGBps=" + netGBps + ": expected a bandwidth");
            }
            boolean gpu = flag(in, "gpu");
            TreeShape shape = constant(in, "treeShape", TreeShape.values());
            MachineTraits traits = new MachineTraits(
                    Short.toUnsignedInt(in.getShort()), Short.toUnsignedInt(in.getShort()), flag(in, "amdProcessors"));
            boolean lowest = machine.get(0) == rank;
            FoundChannels rings = found(in, machine, lowest);
            FoundChannels trees = found(in, machine, lowest);
            if (in.hasRemaining()) {
                throw new IllegalArgumentException("remaining=" + in.remaining() + ": expected no more bytes");
            }
            return new LocalTopology.Found(new RankChannels(rank, hostId, gpu, rings, trees, shape), netGBps, traits);
        } catch (BufferUnderflowException e) {
            throw refused(rank, bytes, "it ends too early", e);
        } catch (IllegalArgumentException e) {
            throw refused(rank, bytes, e.getMessage(), e);
        }
    }

    private static BootstrapException refused(int rank, byte[] bytes, String why, RuntimeException cause) {
        return new BootstrapException(
                "rank=" + rank + " bytes=" + bytes.length + ": sent channels that make no sense, " + why
                        + "; use the same JCCL version on all ranks",
                cause);
    }

    private static FoundChannels found(ByteBuffer in, List<Integer> machine, boolean lowest) {
        double bwIntra = in.getDouble();
        double bwInter = in.getDouble();
        PathType typeIntra = constant(in, "typeIntra", PathType.values());
        PathType typeInter = constant(in, "typeInter", PathType.values());
        boolean crossNic = flag(in, "crossNic");
        boolean withRails = flag(in, "withRails");
        int count = Byte.toUnsignedInt(in.get());
        if (count > PlanOptions.CHANNEL_LIMIT || lowest == (count == 0) || withRails && count == 0) {
            throw new IllegalArgumentException("orders=" + count + ": expected "
                    + (lowest
                            ? "1 to " + PlanOptions.CHANNEL_LIMIT
                            : "none from a rank that is not its machine's lowest"));
        }
        Set<Integer> members = new HashSet<>(machine);
        List<List<Integer>> orders = new ArrayList<>(count);
        List<Rail> rails = new ArrayList<>();
        for (int channel = 0; channel < count; channel++) {
            orders.add(order(in, members));
            if (withRails) {
                rails.add(new Rail(in.getInt(), in.getInt()));
            }
        }
        return new FoundChannels(bwIntra, bwInter, typeIntra, typeInter, crossNic, orders, rails);
    }

    private static List<Integer> order(ByteBuffer in, Set<Integer> members) {
        Set<Integer> left = new HashSet<>(members);
        List<Integer> order = new ArrayList<>(members.size());
        for (int place = 0; place < members.size(); place++) {
            int rank = in.getInt();
            if (!left.remove(rank)) {
                throw new IllegalArgumentException("order begins " + order + ", rank=" + rank
                        + ": expected each rank of its machine once, left are " + left);
            }
            order.add(rank);
        }
        return order;
    }

    private static boolean flag(ByteBuffer in, String name) {
        byte value = in.get();
        if (value != 0 && value != 1) {
            throw new IllegalArgumentException(name + "=" + value + ": expected 0 or 1");
        }
        return value == 1;
    }

    private static <E extends Enum<E>> E constant(ByteBuffer in, String name, E[] values) {
        int value = Byte.toUnsignedInt(in.get());
        if (value >= values.length) {
            throw new IllegalArgumentException(name + "=" + value + ": expected 0 to " + (values.length - 1));
        }
        return values[value];
    }
}
