package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Collective;
import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.ReduceOp;
import io.jccl.Work;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;

/**
 * One operation with all its parameters. {@link #check} requires an exact result, intact guard zones and an unchanged
 * send buffer.
 *
 * @param count number of elements, as the collective defines it
 * @param misalign bytes by which buffers miss the alignment of their elements
 */
public record CollectiveCase(
        Collective collective,
        DataType type,
        ReduceOp op,
        int count,
        int root,
        boolean inPlace,
        DataBuffer.Memory memory,
        int misalign) {

    private static final int FILLING = 7; // of receive buffers
    private static final int[] COUNTS = {0, 1, 2, 3, 7, 15, 16, 63, 120, 121, 1000, 4096, 4099, 20_001};
    private static final int[] LARGE_COUNTS = {65_536, 131_073, 262_144};
    private static final DataBuffer.Memory[] MEMORIES = {
        DataBuffer.Memory.DIRECT, DataBuffer.Memory.DIRECT, DataBuffer.Memory.SHARED, DataBuffer.Memory.HEAP
    };

    /** Returns the size in bytes of an arena that is large enough for every sampled case of {@code ranks} ranks. */
    public static int arenaBytes(int ranks) {
        return 2 * (ranks * 262_144 * 8 + 4096) / (ranks > 4 ? 4 : 1);
    }

    /** Draws cases at random; a seed always draws the same cases. Collectives take turns, so that each one occurs. */
    public static List<CollectiveCase> sample(long seed, int ranks, int number, boolean large) {
        Random random = new Random(seed);
        List<CollectiveCase> cases = new ArrayList<>();
        Collective[] collectives = Collective.values();
        for (int i = 0; i < number; i++) {
            Collective collective = collectives[(i + (int) (seed & 0xff)) % collectives.length];
            int[] counts = large && random.nextInt(8) == 0 ? LARGE_COUNTS : COUNTS;
            int count = counts[random.nextInt(counts.length)];
            boolean perRank = collective != Collective.ALL_REDUCE
                    && collective != Collective.REDUCE
                    && collective != Collective.BROADCAST
                    && !isScan(collective);
            if (perRank && count > 20_001) {
                count /= ranks;
            }
            if (ranks > 4 && count > 20_001) {
                count /= 4;
            }
            DataType type = DataType.values()[random.nextInt(DataType.values().length)];
            ReduceOp op = Elements.operation(random, type);
            cases.add(new CollectiveCase(
                    collective,
                    type,
                    isScan(collective) && op == ReduceOp.AVG ? ReduceOp.SUM : op,
                    count,
                    random.nextInt(ranks),
                    random.nextBoolean(),
                    MEMORIES[random.nextInt(MEMORIES.length)],
                    random.nextInt(4) == 0 ? random.nextInt(8) : 0));
        }
        return cases;
    }

    private static boolean isScan(Collective collective) {
        return collective == Collective.SCAN || collective == Collective.EXSCAN;
    }

    /** Executes the operation on this rank and checks the result. */
    public void check(Communicator comm, Arena arena) {
        check(comm, arena, Work::await);
    }

    /** Issues the operation on this rank, lets {@code finish} wait for it, and checks the result. */
    void check(Communicator comm, Arena arena, Consumer<Work> finish) {
        int rank = comm.rank();
        int n = comm.size();
        int sendCount = sendCount(n);
        int recvCount = recvCount(n);
        boolean sends = sends(rank);
        boolean recvs = recvs(rank);
        boolean same = worksInPlace() && sends && recvs;
        Arena.Region whole = same ? arena.region(memory, 1, misalign, type, Math.max(sendCount, recvCount)) : null;
        Arena.Region recv = recvs ? (same ? part(whole, rank, recvCount) : place(arena, 1, recvCount)) : null;
        Arena.Region send = sends ? (same ? part(whole, rank, sendCount) : place(arena, 0, sendCount)) : null;
        if (recv != null) {
            fill(recv, -1 - rank);
        }
        if (send != null) {
            fill(send, rank);
        }
        byte[] sentBefore = send == null ? null : copy(send.view());
        finish.accept(issue(comm, send, recv));
        if (recv != null) {
            requireEqual(comm, recv.view(), expectedBytes(rank, n, recvCount));
        }
        if (send != null && !same) {
            assertThat(send.view().mismatch(ByteBuffer.wrap(sentBefore)))
                    .as("send buffer unchanged, rank %d of %d, %s", rank, n, this)
                    .isEqualTo(-1);
        }
        for (Arena.Region region : new Arena.Region[] {whole, same ? null : send, same ? null : recv}) {
            assertThat(region == null || region.guardsHold())
                    .as("guard zones, rank %d of %d, %s", rank, n, this)
                    .isTrue();
        }
    }

    private Arena.Region place(Arena arena, int half, int elements) {
        return arena.region(memory, half, misalign, type, elements);
    }

    /** Returns the region of an in-place buffer: the smaller buffer is this rank's block of the larger one. */
    private Arena.Region part(Arena.Region whole, int rank, int elements) {
        if (elements * type.bytes() == whole.bytes()) {
            return whole;
        }
        int bytes = count * type.bytes();
        return new Arena.Region(
                whole.all(),
                whole.offset() + rank * bytes,
                bytes,
                whole.buffer().slice((long) rank * count, count));
    }

    private boolean worksInPlace() {
        return inPlace && collective != Collective.ALL_TO_ALL && collective != Collective.SEND_RECV;
    }

    private boolean sends(int rank) {
        return switch (collective) {
            case BARRIER -> false;
            case BROADCAST, SCATTER -> rank == root;
            default -> true;
        };
    }

    private boolean recvs(int rank) {
        return switch (collective) {
            case BARRIER -> false;
            case REDUCE, GATHER -> rank == root;
            default -> true;
        };
    }

    private int sendCount(int n) {
        return switch (collective) {
            case REDUCE_SCATTER, ALL_TO_ALL, SCATTER -> n * count;
            default -> count;
        };
    }

    private int recvCount(int n) {
        return switch (collective) {
            case ALL_GATHER, ALL_TO_ALL, GATHER -> n * count;
            default -> count;
        };
    }

    private void fill(Arena.Region region, int rank) {
        ByteBuffer view = region.view();
        for (int i = 0; i < region.bytes() / type.bytes(); i++) {
            Elements.put(view, i * type.bytes(), type, rank < 0 ? FILLING : Elements.value(rank, i, type, op));
        }
    }

    private Work issue(Communicator comm, Arena.Region send, Arena.Region recv) {
        DataBuffer from = send == null ? null : send.buffer();
        DataBuffer to = recv == null ? null : recv.buffer();
        int next = (comm.rank() + 1) % comm.size();
        int previous = (comm.rank() + comm.size() - 1) % comm.size();
        return switch (collective) {
            case ALL_REDUCE -> comm.allReduce(from, to, op);
            case REDUCE -> comm.reduce(from, to, op, root);
            case BROADCAST -> comm.broadcast(from, to, root);
            case ALL_GATHER -> comm.allGather(from, to);
            case REDUCE_SCATTER -> comm.reduceScatter(from, to, op);
            case ALL_TO_ALL -> comm.allToAll(from, to);
            case GATHER -> comm.gather(from, to, root);
            case SCATTER -> comm.scatter(from, to, root);
            case SEND_RECV -> comm.rank() % 2 == 0
                    ? comm.sendReceive(from, next, to, previous)
                    : comm.group(g -> g.send(next, from).recv(previous, to));
            case BARRIER -> comm.barrier();
            case SCAN -> comm.scan(from, to, op);
            case EXSCAN -> comm.exscan(from, to, op);
        };
    }

    private byte[] expectedBytes(int rank, int n, int recvCount) {
        ByteBuffer bytes = ByteBuffer.allocate(recvCount * type.bytes()).order(ByteOrder.nativeOrder());
        for (int i = 0; i < recvCount; i++) {
            Elements.put(bytes, i * type.bytes(), type, expected(rank, n, i));
        }
        return bytes.array();
    }

    private double expected(int rank, int n, int i) {
        int block = count == 0 ? 0 : i / count;
        int within = count == 0 ? 0 : i % count;
        return switch (collective) {
            case ALL_REDUCE, REDUCE -> Elements.reduced(n, i, type, op);
            case BROADCAST -> Elements.value(root, i, type, op);
            case ALL_GATHER, GATHER -> Elements.value(block, within, type, op);
            case REDUCE_SCATTER -> Elements.reduced(n, (long) rank * count + i, type, op);
            case ALL_TO_ALL -> Elements.value(block, (long) rank * count + within, type, op);
            case SCATTER -> Elements.value(root, (long) rank * count + i, type, op);
            case SEND_RECV -> Elements.value((rank + n - 1) % n, i, type, op);
            case BARRIER -> 0;
            case SCAN -> Elements.reduced(rank + 1, i, type, op);
            case EXSCAN -> rank > 0
                    ? Elements.reduced(rank, i, type, op)
                    : worksInPlace() ? Elements.value(0, i, type, op) : FILLING;
        };
    }

    private void requireEqual(Communicator comm, ByteBuffer actual, byte[] expected) {
        int at = actual.mismatch(ByteBuffer.wrap(expected));
        assertThat(at)
                .as("first wrong byte, rank %d of %d, %s", comm.rank(), comm.size(), this)
                .isEqualTo(-1);
    }

    private static byte[] copy(ByteBuffer view) {
        byte[] bytes = new byte[view.remaining()];
        view.get(0, bytes);
        return bytes;
    }
}
