package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Collective;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.Group;
import io.jccl.Operations;
import io.jccl.ReduceOp;
import io.jccl.Work;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.IntToLongFunction;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Checks that every collective produces the same bits on device memory as on host memory with the same communicator.
 */
final class DeviceCollectives {

    private static final int[] COUNTS = {0, 1, 77, 1003, 5000};
    static final int MAX_BYTES = 8 * 8 * 5003 + 64;

    private DeviceCollectives() {}

    /**
     * One operation.
     *
     * @param kind the collective
     * @param vector true for the v-form, in which each rank has its own count
     * @param inPlace true for an all-reduce with one buffer; other collectives ignore it
     */
    record Case(Collective kind, boolean vector, boolean inPlace, DataType type, ReduceOp op, int count, int root) {

        /** Returns a count for each rank; rank 0 has 0. */
        long[] counts(int size) {
            long[] counts = new long[size];
            Arrays.setAll(counts, rank -> (long) count * rank / Math.max(1, size - 1));
            return counts;
        }

        /** Returns the number of elements that one rank sends to another in an all-to-all. */
        long message(int from, int to, int size) {
            return (long) count * ((from + 2L * to) % 4) / (4L * size) + (count == 0 ? 0 : (from + to) % 3);
        }

        long[] messages(IntToLongFunction perRank, int size) {
            return IntStream.range(0, size).mapToLong(perRank).toArray();
        }

        /** Returns offsets of blocks with a gap of one element before each. */
        private static long[] spread(long[] counts) {
            long[] offsets = new long[counts.length];
            offsets[0] = 1;
            for (int i = 1; i < counts.length; i++) {
                offsets[i] = offsets[i - 1] + counts[i - 1] + 1;
            }
            return offsets;
        }

        private Work allToAllV(int rank, int size, Operations<Work> on, DataBuffer send, DataBuffer recv) {
            long[] out = messages(peer -> message(rank, peer, size), size);
            long[] in = messages(peer -> message(peer, rank, size), size);
            return on.allToAllV(send, out, spread(out), recv, in, spread(in));
        }

        int elements(int size) {
            if (kind == Collective.ALL_TO_ALL && vector) {
                return size * (count + 4);
            }
            if (vector) {
                return (int) Arrays.stream(counts(size)).sum();
            }
            return switch (kind) {
                case ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, GATHER, SCATTER -> size * count;
                default -> count;
            };
        }

        int sent(int rank, int size) {
            return switch (kind) {
                case ALL_GATHER, GATHER -> vector ? (int) counts(size)[rank] : count;
                default -> elements(size);
            };
        }

        int received(int rank, int size) {
            return switch (kind) {
                case REDUCE_SCATTER, SCATTER -> vector ? (int) counts(size)[rank] : count;
                default -> elements(size);
            };
        }

        Work issue(
                Communicator comm,
                Operations<Work> on,
                Function<Consumer<Group>, Work> group,
                DataBuffer from,
                DataBuffer to) {
            int rank = comm.rank();
            int size = comm.size();
            DataBuffer send = from.slice(0, sent(rank, size));
            DataBuffer recv = to.slice(0, received(rank, size));
            return switch (kind) {
                case ALL_REDUCE -> inPlace ? on.allReduce(recv, op) : on.allReduce(send, recv, op);
                case REDUCE -> on.reduce(send, recv, op, root % size);
                case BROADCAST -> on.broadcast(send, recv, root % size);
                case ALL_GATHER -> vector ? on.allGatherV(send, recv, counts(size)) : on.allGather(send, recv);
                case REDUCE_SCATTER -> vector
                        ? on.reduceScatterV(send, recv, counts(size), op)
                        : on.reduceScatter(send, recv, op);
                case ALL_TO_ALL -> vector ? allToAllV(rank, size, on, send, recv) : on.allToAll(send, recv);
                case GATHER -> vector
                        ? on.gatherV(send, recv, counts(size), root % size)
                        : on.gather(send, recv, root % size);
                case SCATTER -> vector
                        ? on.scatterV(send, counts(size), recv, root % size)
                        : on.scatter(send, recv, root % size);
                case SEND_RECV -> rank % 2 == 0
                        ? on.sendReceive(send, (rank + 1) % size, recv, (rank + size - 1) % size)
                        : group.apply(g -> g.send((rank + 1) % size, send).recv((rank + size - 1) % size, recv));
                case BARRIER -> on.barrier();
                case SCAN -> inPlace ? on.scan(recv, op) : on.scan(send, recv, op);
                case EXSCAN -> inPlace ? on.exscan(recv, op) : on.exscan(send, recv, op);
            };
        }
    }

    /** Compares scans, which only host staging executes on device memory. */
    static void compareScans(Communicator comm, int device, long seed, Predicate<DataType> suits) {
        compare(comm, device, cases(seed, suits, DeviceCollectives::isScan));
    }

    private static boolean isScan(Collective kind) {
        return kind == Collective.SCAN || kind == Collective.EXSCAN;
    }

    static List<Case> cases(long seed, Predicate<DataType> suits) {
        return cases(seed, suits, kind -> !isScan(kind));
    }

    private static List<Case> cases(long seed, Predicate<DataType> suits, Predicate<Collective> kinds) {
        Random random = new Random(seed);
        List<DataType> types = Stream.of(DataType.values()).filter(suits).toList();
        List<Case> cases = new ArrayList<>();
        for (Collective kind : Stream.of(Collective.values()).filter(kinds).toList()) {
            for (int count : COUNTS) {
                for (boolean variant : new boolean[] {false, true}) {
                    boolean mayVary = kind == Collective.ALL_GATHER
                            || kind == Collective.REDUCE_SCATTER
                            || kind == Collective.ALL_TO_ALL
                            || kind == Collective.GATHER
                            || kind == Collective.SCATTER;
                    DataType type = types.get(random.nextInt(types.size()));
                    ReduceOp drawn = Elements.operation(random, type);
                    ReduceOp op = isScan(kind) && drawn == ReduceOp.AVG ? ReduceOp.SUM : drawn;
                    cases.add(new Case(kind, variant && mayVary, variant, type, op, count, random.nextInt(8)));
                }
            }
        }
        return cases;
    }

    /** Compares all cases. The ranks are threads, spread over {@code devices} devices. */
    static void compare(int size, int devices, String algorithm, String protocol) {
        compare(size, devices, algorithm, protocol, (rank, config) -> config);
    }

    /** Compares all cases; {@code more} changes the configuration of each rank. */
    static void compare(
            int size,
            int devices,
            String algorithm,
            String protocol,
            BiFunction<Integer, CommunicatorConfig.Builder, CommunicatorConfig.Builder> more) {
        CommunicatorConfig config = config(algorithm, protocol).build();
        long seed = 31L * size + algorithm.hashCode() + protocol.hashCode();
        try (LocalRanks ranks = LocalRanks.start(
                size, rank -> more.apply(rank, config.toBuilder().device(rank % devices))
                        .build())) {
            ranks.run(comm -> compareAll(comm, comm.rank() % devices, seed, type -> true));
        }
    }

    /** Returns a configuration with one channel, so that host and device add in the same order. */
    static CommunicatorConfig.Builder config(String algorithm, String protocol) {
        return LocalRanks.config()
                .setting(
                        "JCCL_ALGO",
                        switch (algorithm) {
                            case "tree" -> "ring;allreduce:tree";
                            case "nvls" -> "ring;allreduce:nvls;reducescatter:nvls;allgather:nvls";
                            default -> algorithm;
                        })
                .setting("JCCL_PROTO", protocol)
                .setting("JCCL_LL128", "force")
                .setting("JCCL_CHUNK_BYTES", "1024")
                .setting("JCCL_NTHREADS", "64")
                .channels(1);
    }

    /** Compares, on this rank, all cases of a seed, with the data types that {@code suits} accepts. */
    static void compareAll(Communicator comm, int device, long seed, Predicate<DataType> suits) {
        compare(comm, device, cases(seed, suits));
    }

    /** Compares only the cases with one of the counts, for processes that share few cores. */
    static void compareEach(Communicator comm, int device, long seed, Predicate<DataType> suits) {
        compare(
                comm,
                device,
                cases(seed, suits).stream().filter(one -> one.count() == 1003).toList());
    }

    private static void compare(Communicator comm, int device, List<Case> cases) {
        try (DeviceMemory send = new DeviceMemory(device, MAX_BYTES);
                DeviceMemory recv = new DeviceMemory(device, MAX_BYTES)) {
            for (Case one : cases) {
                compare(comm, one, send, recv);
            }
        }
    }

    private static void compare(Communicator comm, Case one, DeviceMemory send, DeviceMemory recv) {
        int bytes = one.elements(comm.size()) * one.type().bytes();
        byte[] sent = new byte[bytes];
        byte[] before = new byte[bytes];
        new Random(comm.rank() * 1000L + bytes).nextBytes(sent);
        new Random(comm.rank() * 1000L + bytes + 1).nextBytes(before);
        ByteBuffer hostSend = direct(sent);
        ByteBuffer hostRecv = direct(before);
        one.issue(comm, comm, comm::group, DataBuffer.of(hostSend, one.type()), DataBuffer.of(hostRecv, one.type()))
                .await();
        byte[] expected = new byte[bytes];
        hostRecv.get(0, expected);

        send.put(sent);
        recv.put(before);
        send.get(0); // waits for the copy, because the operation runs on another stream
        if (one.kind() == Collective.SEND_RECV) {
            recv.get(0);
        }
        long count = one.elements(comm.size());
        Work work = one.issue(
                comm,
                one.kind() == Collective.SEND_RECV ? comm : comm.on(recv.stream()),
                comm::group,
                send.elements(count, one.type()),
                recv.elements(count, one.type()));
        if (one.kind() == Collective.SEND_RECV || one.count() == 77) {
            work.toFuture().join(); // operations without a stream must be awaited
        }
        assertThat(recv.get(bytes))
                .as("rank %d of %d, %s", comm.rank(), comm.size(), one)
                .isEqualTo(expected);
        work.await();
    }

    private static ByteBuffer direct(byte[] bytes) {
        return ByteBuffer.allocateDirect(bytes.length)
                .order(ByteOrder.nativeOrder())
                .put(0, bytes);
    }
}
