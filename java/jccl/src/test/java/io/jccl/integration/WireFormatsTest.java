package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.jccl.BootstrapException;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.Encryption;
import io.jccl.MismatchedCollectiveException;
import io.jccl.ReduceOp;
import io.jccl.WireFormat;
import io.jccl.Work;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests formats between hosts through the public API, on ranks of two simulated hosts that use sockets. */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WireFormatsTest {

    private static final int SIZE = 4;
    private static final int COUNT = 5000;
    private static final List<WireFormat> FORMATS = List.of(
            WireFormat.BFLOAT16,
            WireFormat.FLOAT16,
            WireFormat.FLOAT8_BLOCK,
            WireFormat.INT8_BLOCK,
            WireFormat.INT8_BLOCK.stochastic(3));

    private static LocalRanks start(UnaryOperator<CommunicatorConfig.Builder> settings) {
        return LocalRanks.start(SIZE, rank -> settings.apply(LocalRanks.config().hostId("host" + rank / 2))
                .build());
    }

    private static float[] input(int rank, int count) {
        Random random = new Random(rank);
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = (float) random.nextGaussian();
        }
        return values;
    }

    private static float[] sum() {
        float[] sum = new float[COUNT];
        for (int rank = 0; rank < SIZE; rank++) {
            float[] one = input(rank, COUNT);
            for (int i = 0; i < COUNT; i++) {
                sum[i] += one[i];
            }
        }
        return sum;
    }

    /** Checks that all ranks have the same bits, and that elements are near those that were expected. */
    private static void check(Queue<float[]> results, float[] expected, WireFormat format, int roundings) {
        float[] first = results.peek();
        assertThat(results).hasSize(SIZE).allSatisfy(one -> assertThat(one).containsExactly(first));
        assertThat(first).isNotEqualTo(expected);
        for (int i = 0; i < expected.length; i++) {
            double bound = roundings * format.errorBound(10, 10);
            assertThat((double) first[i]).as("%s i=%s", format, i).isCloseTo(expected[i], within(bound));
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Encryption.class,
            names = {"OFF", "REQUIRED"})
    void everyCollectiveRoundsWithinTheBoundsAndAlikeOnAllRanks(Encryption encryption) {
        try (LocalRanks ranks = start(config -> config.encryption(encryption))) {
            for (WireFormat format : FORMATS) {
                Queue<float[]> sums = new ConcurrentLinkedQueue<>();
                Queue<float[]> fused = new ConcurrentLinkedQueue<>();
                Queue<float[]> broadcast = new ConcurrentLinkedQueue<>();
                Queue<float[]> gathered = new ConcurrentLinkedQueue<>();
                Queue<float[]> vector = new ConcurrentLinkedQueue<>();
                Queue<float[]> scattered = new ConcurrentLinkedQueue<>();
                ranks.run(comm -> {
                    float[] one = input(comm.rank(), COUNT);
                    comm.allReduce(one, ReduceOp.SUM, format).await();
                    sums.add(one);
                    float[] other = input(comm.rank(), COUNT);
                    List<DataBuffer> buffers = List.of(DataBuffer.of(other), DataBuffer.of(new double[7]));
                    comm.allReduce(buffers, ReduceOp.SUM, format).await();
                    fused.add(other);
                    float[] own = input(comm.rank(), COUNT);
                    comm.broadcast(DataBuffer.of(own), 1, format).await();
                    broadcast.add(own);
                    float[] all = new float[SIZE * COUNT];
                    comm.allGather(DataBuffer.of(input(comm.rank(), COUNT)), DataBuffer.of(all), format)
                            .await();
                    gathered.add(all);
                    float[] parts = new float[SIZE * COUNT];
                    long[] counts = {COUNT, COUNT, COUNT, COUNT};
                    comm.allGatherV(DataBuffer.of(input(comm.rank(), COUNT)), DataBuffer.of(parts), counts, format)
                            .await();
                    vector.add(parts);
                    float[] share = new float[COUNT / SIZE];
                    float[] send = input(comm.rank(), COUNT);
                    comm.reduceScatter(DataBuffer.of(send), DataBuffer.of(share), ReduceOp.AVG, format)
                            .await();
                    float[] whole = new float[COUNT];
                    comm.allGather(DataBuffer.of(share), DataBuffer.of(whole)).await();
                    for (int i = 0; i < COUNT; i++) {
                        whole[i] *= SIZE;
                    }
                    scattered.add(whole);
                });
                check(sums, sum(), format, SIZE + 1);
                check(fused, sum(), format, SIZE + 1);
                check(broadcast, input(1, COUNT), format, 1);
                float[] inputs = new float[SIZE * COUNT];
                for (int rank = 0; rank < SIZE; rank++) {
                    System.arraycopy(input(rank, COUNT), 0, inputs, rank * COUNT, COUNT);
                }
                check(gathered, inputs, format, 1);
                check(vector, inputs, format, 1);
                check(scattered, sum(), format, SIZE);
            }
        }
    }

    @Test
    void theDefaultOfTheCommunicatorRoundsArraysAndKeepsSingleNumbersAndOtherTypesExact() {
        try (LocalRanks ranks = start(config -> config.wireFormat(WireFormat.BFLOAT16))) {
            Queue<float[]> sums = new ConcurrentLinkedQueue<>();
            ranks.run(comm -> {
                float[] one = input(comm.rank(), COUNT);
                comm.allReduce(one, ReduceOp.SUM).await();
                sums.add(one);
                float[] exact = {1 + 0x1p-20f};
                comm.allReduce(exact, ReduceOp.SUM, WireFormat.EXACT).await();
                assertThat(exact).containsExactly(SIZE * (1 + 0x1p-20f));
                assertThat(comm.allReduce(1.000001, ReduceOp.MAX)).isEqualTo(1.000001);
                int[] whole = {16_777_217};
                comm.allReduce(whole, ReduceOp.MAX).await();
                assertThat(whole).containsExactly(16_777_217);
                float[] reduced = {1 + 0x1p-20f};
                comm.reduce(reduced, ReduceOp.MAX, 0).await();
                assertThat(reduced).containsExactly(1 + 0x1p-20f);
            });
            check(sums, sum(), WireFormat.BFLOAT16, SIZE + 1);
        }
    }

    @Test
    void onOneHostEveryFormatIsExact() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                float[] one = {1 + 0x1p-20f};
                comm.allReduce(one, ReduceOp.SUM, WireFormat.INT8_BLOCK).await();
                assertThat(one).containsExactly(2 + 0x1p-19f);
            });
        }
    }

    @Test
    void ranksWithDifferentFormatsAreToldBoth() {
        try (LocalRanks ranks = start(config -> config)) {
            ranks.run(comm -> {
                WireFormat format = comm.rank() == 0 ? WireFormat.BFLOAT16 : WireFormat.INT8_BLOCK;
                Work work = comm.allReduce(new float[COUNT], ReduceOp.SUM, format);
                assertThatThrownBy(work::await)
                        .isInstanceOf(MismatchedCollectiveException.class)
                        .hasMessageContaining("wire=bfloat16")
                        .hasMessageContaining("wire=int8_block");
            });
        }
    }

    @Test
    void ranksMayPassDifferentSeeds() {
        try (LocalRanks ranks = start(config -> config)) {
            Queue<float[]> sums = new ConcurrentLinkedQueue<>();
            ranks.run(comm -> {
                float[] one = input(comm.rank(), COUNT);
                comm.allReduce(one, ReduceOp.SUM, WireFormat.FLOAT8_BLOCK.stochastic(comm.rank()))
                        .await();
                sums.add(one);
            });
            check(sums, sum(), WireFormat.FLOAT8_BLOCK.stochastic(0), SIZE + 1);
        }
    }

    @Test
    void badArgumentsAreRefusedBeforeAnythingIsSent() {
        try (LocalRanks ranks = LocalRanks.start(1)) {
            Communicator comm = ranks.get(0);
            BiFunction<DataBuffer, WireFormat, Work> reduce =
                    (buffer, wire) -> comm.allReduce(buffer, ReduceOp.SUM, wire);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> reduce.apply(DataBuffer.of(new int[1]), WireFormat.BFLOAT16))
                    .withMessage("wire=bfloat16 type=int32: only float32 and float64 can be rounded between hosts; use"
                            + " WireFormat.EXACT for other types");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> reduce.apply(DataBuffer.of(new float[1]), null))
                    .withMessage("wire=null: expected a format, for example WireFormat.BFLOAT16");
            reduce.apply(DataBuffer.of(new int[1]), WireFormat.EXACT).await();
        }
    }

    @Test
    void theDefaultMustBeTheSameOnAllRanks() {
        assertThatThrownBy(() -> LocalRanks.start(2, rank -> LocalRanks.config()
                        .setting("JCCL_WIRE_FORMAT", rank == 0 ? "exact" : "float16")
                        .build()))
                .rootCause()
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("JCCL_WIRE_FORMAT=\"exact\" on rank=0 but \"float16\" on rank=1");
    }
}
