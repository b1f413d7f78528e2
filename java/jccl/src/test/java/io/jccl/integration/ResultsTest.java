package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Algorithm;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.Protocol;
import io.jccl.ReduceOp;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.LongBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Properties of results: determinism, counts per rank, all kinds of memory, any size. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ResultsTest {

    private static final long GIB = 1L << 30;

    static FloatBuffer floats(int count) {
        return ByteBuffer.allocateDirect(count * Float.BYTES)
                .order(ByteOrder.nativeOrder())
                .asFloatBuffer();
    }

    static LongBuffer longs(long... values) {
        return ByteBuffer.allocateDirect(values.length * Long.BYTES)
                .order(ByteOrder.nativeOrder())
                .asLongBuffer()
                .put(values)
                .flip();
    }

    static long[] toArray(LongBuffer buffer) {
        long[] values = new long[buffer.remaining()];
        buffer.get(buffer.position(), values);
        return values;
    }

    /** Returns values whose sum depends on the order of the additions. */
    private static float[] inexact(Communicator comm, int count) {
        Random random = new Random(comm.rank() + 17);
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = random.nextFloat() * (1 << random.nextInt(20));
        }
        return values;
    }

    @ParameterizedTest
    @EnumSource(
            value = Algorithm.class,
            names = {"RING", "TREE", "DIRECT"}) // every communicator can use these on host memory
    void inexactSumsAreTheSameOnAllRanksAndOnEveryRun(Algorithm algorithm) {
        for (Protocol protocol : Protocol.values()) {
            CommunicatorConfig config =
                    LocalRanks.config().algorithm(algorithm).protocol(protocol).build();
            List<float[]> first = sumsOfInexactValues(config);
            List<float[]> again = sumsOfInexactValues(config);
            for (float[] sums : first) {
                assertThat(sums).as("%s %s, ranks alike", algorithm, protocol).isEqualTo(first.get(0));
            }
            assertThat(again.get(0))
                    .as("%s %s, runs alike", algorithm, protocol)
                    .isEqualTo(first.get(0));
        }
    }

    private static List<float[]> sumsOfInexactValues(CommunicatorConfig config) {
        try (LocalRanks ranks = LocalRanks.start(4, config)) {
            return ranks.call(comm -> {
                float[] values = inexact(comm, 70_003);
                float[] sums = values.clone();
                comm.allReduce(DataBuffer.of(sums), ReduceOp.SUM).await();
                float[] repeated = values.clone();
                comm.allReduce(DataBuffer.of(repeated), ReduceOp.SUM).await();
                assertThat(repeated).as("repeat on rank %d", comm.rank()).isEqualTo(sums);
                return sums;
            });
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5})
    void allGatherTakesADifferentCountFromEachRank(int size) {
        try (LocalRanks ranks = LocalRanks.start(size)) {
            long[] counts = new long[size];
            Arrays.setAll(counts, rank -> rank % 3 == 1 ? 0 : 1000L * rank + 3);
            long[] expected = new long[(int) Arrays.stream(counts).sum()];
            int at = 0;
            for (int rank = 0; rank < size; rank++) {
                for (int i = 0; i < counts[rank]; i++) {
                    expected[at++] = rank * 1_000_000L + i;
                }
            }
            ranks.run(comm -> {
                long[] mine = new long[(int) counts[comm.rank()]];
                Arrays.setAll(mine, i -> comm.rank() * 1_000_000L + i);
                LongBuffer all = longs(new long[expected.length]);
                comm.allGatherV(DataBuffer.of(longs(mine)), DataBuffer.of(all), counts)
                        .await();
                assertThat(toArray(all)).isEqualTo(expected);
            });
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5})
    void reduceScatterGivesADifferentCountToEachRank(int size) {
        try (LocalRanks ranks = LocalRanks.start(size)) {
            long[] counts = new long[size];
            Arrays.setAll(counts, rank -> rank % 3 == 2 ? 0 : 700L * rank + 5);
            int total = (int) Arrays.stream(counts).sum();
            ranks.run(comm -> {
                long[] values = new long[total];
                Arrays.setAll(values, i -> (comm.rank() + 1L) * i);
                LongBuffer mine = longs(new long[(int) counts[comm.rank()]]);
                comm.reduceScatterV(DataBuffer.of(longs(values)), DataBuffer.of(mine), counts, ReduceOp.SUM)
                        .await();
                long before = Arrays.stream(counts).limit(comm.rank()).sum();
                long[] expected = new long[mine.remaining()];
                Arrays.setAll(expected, i -> size * (size + 1L) / 2 * (before + i));
                assertThat(toArray(mine)).isEqualTo(expected);
            });
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5})
    void allToAllTakesCountsAndOffsetsPerPair(int size) {
        try (LocalRanks ranks = LocalRanks.start(size)) {
            ranks.run(comm -> {
                int rank = comm.rank();
                long[] sendCounts = new long[size];
                long[] recvCounts = new long[size];
                long[] sendOffsets = new long[size];
                long[] recvOffsets = new long[size];
                int sendTotal = 0;
                int recvTotal = 0;
                for (int peer = 0; peer < size; peer++) {
                    sendCounts[peer] = count(rank, peer);
                    recvCounts[peer] = count(peer, rank);
                    sendOffsets[peer] = sendTotal + 1;
                    recvOffsets[peer] = recvTotal + 2;
                    sendTotal += (int) sendCounts[peer] + 1;
                    recvTotal += (int) recvCounts[peer] + 2;
                }
                long[] values = new long[sendTotal];
                for (int peer = 0; peer < size; peer++) {
                    for (int i = 0; i < sendCounts[peer]; i++) {
                        values[(int) sendOffsets[peer] + i] = element(rank, peer, i);
                    }
                }
                long[] expected = new long[recvTotal];
                Arrays.fill(expected, -9);
                for (int peer = 0; peer < size; peer++) {
                    for (int i = 0; i < recvCounts[peer]; i++) {
                        expected[(int) recvOffsets[peer] + i] = element(peer, rank, i);
                    }
                }
                long[] received = new long[recvTotal];
                Arrays.fill(received, -9);
                DataBuffer recv = rank % 2 == 0 ? DataBuffer.of(received) : null;
                LongBuffer direct = longs(received);
                comm.allToAllV(
                                DataBuffer.of(longs(values)),
                                sendCounts,
                                sendOffsets,
                                recv != null ? recv : DataBuffer.of(direct),
                                recvCounts,
                                recvOffsets)
                        .await();
                assertThat(recv != null ? received : toArray(direct)).isEqualTo(expected);
            });
        }
    }

    private static long count(int from, int to) {
        return (from + 2L * to) % 4 == 1 ? 0 : 300L * from + 7L * to + 1;
    }

    private static long element(int from, int to, int i) {
        return from * 1_000_000_000L + to * 1_000_000L + i;
    }

    @Test
    void heapArraysOfEveryClassAreStaged() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                float[] f = {1.5f, comm.rank()};
                double[] d = {2.5, comm.rank()};
                int[] i = {3, comm.rank()};
                long[] l = {4, comm.rank()};
                byte[] b = {5, (byte) comm.rank()};
                byte[] e = {Elements.float8(6, 3), Elements.float8(comm.rank(), 3)};
                short[] h = {Elements.half(6), Elements.half(comm.rank())};
                comm.allReduce(DataBuffer.of(f), ReduceOp.SUM).await();
                comm.allReduce(DataBuffer.of(d), ReduceOp.SUM).await();
                comm.allReduce(DataBuffer.of(i), ReduceOp.SUM).await();
                comm.allReduce(DataBuffer.of(l), ReduceOp.SUM).await();
                comm.allReduce(DataBuffer.of(b), ReduceOp.SUM).await();
                comm.allReduce(DataBuffer.of(e, DataType.FLOAT8_E4M3), ReduceOp.SUM)
                        .await();
                comm.allReduce(DataBuffer.of(h, DataType.FLOAT16), ReduceOp.SUM).await();
                assertThat(f).containsExactly(3f, 1f);
                assertThat(d).containsExactly(5, 1);
                assertThat(i).containsExactly(6, 1);
                assertThat(l).containsExactly(8, 1);
                assertThat(b).containsExactly(10, 1);
                assertThat(e).containsExactly(Elements.float8(12, 3), Elements.float8(1, 3));
                assertThat(h).containsExactly(Elements.half(12), Elements.half(1));
            });
        }
    }

    @Test
    void aRankWithAHeapArrayMeetsARankWithADirectBuffer() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                float[] heap = new float[300_000];
                FloatBuffer direct = floats(heap.length);
                for (int i = 0; i < heap.length; i++) {
                    heap[i] = i % 1000;
                    direct.put(i, i % 1000);
                }
                DataBuffer mine = comm.rank() == 0 ? DataBuffer.of(heap) : DataBuffer.of(direct);
                comm.allReduce(mine, ReduceOp.SUM).await();
                for (int i = 0; i < heap.length; i++) {
                    assertThat(comm.rank() == 0 ? heap[i] : direct.get(i)).isEqualTo(2 * (i % 1000));
                }
            });
        }
    }

    @Test
    void onlyPositionToLimitIsTouched() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                FloatBuffer values = floats(6);
                values.put(new float[] {1, 2, 3, 4, 5, 6});
                comm.allReduce(DataBuffer.of(values.limit(4).position(1)), ReduceOp.SUM)
                        .await();
                float[] after = new float[6];
                values.clear().get(after);
                assertThat(after).containsExactly(1, 4, 6, 8, 5, 6);
            });
        }
    }

    @Test
    void hostBuffersBeyondTwoGibibytesWork() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                try (HostBuffer buffer = HostBuffer.allocate(3 * GIB)) {
                    long last = 3 * GIB - 64;
                    buffer.asByteBuffer(last, 64).putLong(8, 5L + comm.rank());
                    DataBuffer tail = buffer.as(DataType.INT64).slice(last / 8, 8);
                    comm.allReduce(tail, ReduceOp.PROD).await();
                    assertThat(buffer.asByteBuffer(last, 64).getLong(8)).isEqualTo(30);

                    long far = 2 * GIB + 4096;
                    ByteBuffer here = buffer.asByteBuffer(far, 8);
                    here.putInt(0, 40 + comm.rank());
                    DataBuffer one = buffer.slice(far, 1, DataType.INT32);
                    comm.broadcast(one, 1).await();
                    assertThat(here.getInt(0)).isEqualTo(41);
                }
            });
        }
    }

    @Test
    void averagesAreDividedOnceAndIntegersTruncateTowardsZero() {
        try (LocalRanks ranks = LocalRanks.start(3)) {
            ranks.run(comm -> {
                long[] values = {comm.rank() == 0 ? -7 : 0, comm.rank() == 0 ? 8 : 0, 3};
                comm.allReduce(DataBuffer.of(values), ReduceOp.AVG).await();
                assertThat(values).containsExactly(-2, 2, 3);
                float[] floats = {1};
                comm.allReduce(DataBuffer.of(floats), ReduceOp.AVG).await();
                assertThat(floats).containsExactly(1);
            });
        }
    }
}
