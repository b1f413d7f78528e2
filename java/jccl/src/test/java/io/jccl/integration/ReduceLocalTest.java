package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.ReduceOp;
import io.jccl.Reduction;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReduceLocalTest {

    private static final int[] COUNTS = {0, 1, 2, 3, 17, 64, 1000, 4099, 700_001};

    private final Random random = new Random(49);

    @Test
    void everyReductionOfEveryTypeGivesTheExactResult() {
        for (DataType type : DataType.values()) {
            for (ReduceOp op : ReduceOp.values()) {
                if (op.supports(type) && op != ReduceOp.AVG) {
                    int count = COUNTS[random.nextInt(COUNTS.length)];
                    check(type, op, memory(count, type), memory(count, type));
                }
            }
        }
    }

    @Test
    void extremesWithIndexKeepTheSmallerIndexOfEqualValues() {
        float nan = Float.NaN;
        float[] min = {1, 10, 2, 10, 3, 10, nan, 10, 0f, 10};
        float[] max = min.clone();
        DataBuffer next = DataBuffer.of(new float[] {2, 9, 1, 11, 3, 9, 4, 11, -0f, 9});
        Reduction.minWithIndex(DataType.FLOAT32).reduceLocal(DataBuffer.of(min), next);
        Reduction.maxWithIndex(DataType.FLOAT32).reduceLocal(DataBuffer.of(max), next);
        assertThat(min).containsExactly(1, 10, 1, 11, 3, 9, 4, 11, -0f, 9);
        assertThat(max).containsExactly(2, 9, 2, 10, 3, 9, nan, 10, 0f, 10);
        byte[] unsigned = {(byte) 200, 1};
        Reduction.minWithIndex(DataType.UINT8)
                .reduceLocal(DataBuffer.of(unsigned, DataType.UINT8), DataBuffer.of(new byte[] {7, 2}, DataType.UINT8));
        assertThat(unsigned).containsExactly(7, 2);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Reduction.minWithIndex(DataType.FLOAT64).reduceLocal(DataBuffer.of(min), next))
                .withMessageContaining(
                        "op=user:minloc-float64 type=float32: expected elements of the reduction's type");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Reduction.maxWithIndex(DataType.BFLOAT16))
                .withMessageContaining("type=BFLOAT16: expected one of");
    }

    private ByteBuffer memory(int count, DataType type) {
        int bytes = count * type.bytes();
        return (random.nextBoolean() ? ByteBuffer.allocate(bytes) : ByteBuffer.allocateDirect(bytes))
                .order(ByteOrder.nativeOrder());
    }

    private static void check(DataType type, ReduceOp op, ByteBuffer accumulator, ByteBuffer next) {
        int count = accumulator.capacity() / type.bytes();
        ByteBuffer expected = ByteBuffer.allocate(accumulator.capacity()).order(ByteOrder.nativeOrder());
        ByteBuffer unchanged = ByteBuffer.allocate(accumulator.capacity()).order(ByteOrder.nativeOrder());
        for (int i = 0; i < count; i++) {
            Elements.put(accumulator, i * type.bytes(), type, Elements.value(0, i, type, op));
            Elements.put(next, i * type.bytes(), type, Elements.value(1, i, type, op));
            Elements.put(unchanged, i * type.bytes(), type, Elements.value(1, i, type, op));
            Elements.put(expected, i * type.bytes(), type, Elements.reduced(2, i, type, op));
        }
        op.reduceLocal(DataBuffer.of(accumulator, type), DataBuffer.of(next, type));
        String what = type + " " + op + " count=" + count + " direct=" + accumulator.isDirect() + next.isDirect();
        assertThat(accumulator.mismatch(expected)).as(what).isEqualTo(-1);
        assertThat(next.mismatch(unchanged)).as(what).isEqualTo(-1);
    }

    @Test
    void theAccumulatorHasTheLeftOperands() {
        float negative = Float.intBitsToFloat(0x80000000);
        for (ReduceOp op : new ReduceOp[] {ReduceOp.MIN, ReduceOp.MAX}) {
            float[] accumulator = {negative, 0};
            float[] next = {0, negative};
            op.reduceLocal(DataBuffer.of(accumulator), DataBuffer.of(next));
            assertThat(Float.floatToRawIntBits(accumulator[0])).isZero(); // between equal values, the later one wins
            assertThat(Float.floatToRawIntBits(accumulator[1])).isEqualTo(0x80000000);
        }
        Reduction minus = Reduction.of("minus", (a, b) -> a.putInt(0, a.getInt(0) - b.getInt(0)));
        int[] difference = {10};
        minus.reduceLocal(DataBuffer.of(difference), DataBuffer.of(new int[] {3}));
        assertThat(difference).containsExactly(7);
    }

    @Test
    void aBufferCanBeBothOperands() {
        try (HostBuffer memory = HostBuffer.allocate(100, DataType.INT64)) {
            int[] heap = IntStream.range(0, 100).toArray();
            IntStream.range(0, 100).forEach(i -> memory.asLongBuffer(0, 100).put(i, i));
            ReduceOp.SUM.reduceLocal(memory.as(DataType.INT64), memory.as(DataType.INT64));
            ReduceOp.SUM.reduceLocal(DataBuffer.of(heap), DataBuffer.of(heap));
            for (int i = 0; i < 100; i++) {
                assertThat(memory.asLongBuffer(0, 100).get(i)).isEqualTo(2L * i);
                assertThat(heap[i]).isEqualTo(2 * i);
            }
        }
    }

    @Test
    void aFunctionGetsWholeUnitsOfLargeHeapBuffers() {
        int[] accumulator = new int[3 * 200_000];
        int[] next = new int[accumulator.length];
        Arrays.setAll(next, i -> i);
        AtomicInteger calls = new AtomicInteger();
        Reduction triples = Reduction.of("triples", (a, b) -> {
                    calls.incrementAndGet();
                    assertThat(a.remaining() % 12).isZero();
                    for (int at = 0; at < a.remaining(); at += 4) {
                        a.putInt(at, a.getInt(at) + b.getInt(at));
                    }
                })
                .unit(3);
        triples.reduceLocal(DataBuffer.of(accumulator), DataBuffer.of(next));
        assertThat(accumulator).isEqualTo(next);
        assertThat(calls).hasValue(3);
    }

    @Test
    void unsuitableArgumentsAreRefusedBeforeAnyElementChanges() {
        float[] elements = {1, 2, 3, 4};
        DataBuffer four = DataBuffer.of(elements);
        refused(() -> ReduceOp.AVG.reduceLocal(four, DataBuffer.of(new float[4])), "op=avg: ", "use SUM");
        refused(() -> ReduceOp.BOR.reduceLocal(four, DataBuffer.of(new float[4])), "op=bor type=float32: ");
        refused(
                () -> ReduceOp.SUM.reduceLocal(four, DataBuffer.of(new float[3])),
                "accumulator.count=4 next.count=3: ");
        refused(
                () -> ReduceOp.SUM.reduceLocal(four, DataBuffer.of(new int[4])),
                "accumulator.type=float32 next.type=int32: ");
        refused(
                () -> ReduceOp.SUM.reduceLocal(four.slice(0, 3), four.slice(1, 3)),
                "accumulator and next overlap in part");
        refused(
                () -> ReduceOp.SUM.reduceLocal(four, DataBuffer.device(4096, 4, DataType.FLOAT32)),
                "next=",
                "reduceLocal works on memory of the host");
        Reduction pairs = Reduction.of("pairs", (a, b) -> {}).unit(3);
        refused(() -> pairs.reduceLocal(four, DataBuffer.of(new float[4])), "op=user:pairs count=4 unit=3: ");
        ByteBuffer readOnly = ByteBuffer.allocateDirect(16).asReadOnlyBuffer().order(ByteOrder.nativeOrder());
        refused(
                () -> ReduceOp.SUM.reduceLocal(DataBuffer.of(readOnly, DataType.FLOAT32), four),
                "accumulator=",
                "is read-only");
        assertThat(elements).containsExactly(1, 2, 3, 4);
    }

    private static void refused(Runnable call, String... parts) {
        assertThatIllegalArgumentException().isThrownBy(call::run).withMessageContainingAll(parts);
    }

    @Test
    void theOwnerOfMemoryLearnsThatTheCallHasEnded() {
        try (HostBuffer memory = HostBuffer.allocate(4, DataType.INT32)) {
            AtomicInteger released = new AtomicInteger();
            long address = memory.as(DataType.INT32).address();
            DataBuffer owned = DataBuffer.host(address, 4, DataType.INT32, memory, released::incrementAndGet);
            ReduceOp.SUM.reduceLocal(owned, DataBuffer.of(new int[] {1, 2, 3, 4}));
            assertThat(released).hasValue(1);
            assertThat(memory.asIntBuffer(0, 4).get(3)).isEqualTo(4);
            DataBuffer refused = DataBuffer.host(address, 4, DataType.INT32, memory, released::incrementAndGet);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> ReduceOp.SUM.reduceLocal(DataBuffer.of(new int[3]), refused));
            assertThat(released).hasValue(2);
        }
    }

    @Test
    void anExceptionOfTheFunctionReachesTheCaller() {
        Reduction broken = Reduction.of("broken", (a, b) -> {
            throw new IllegalStateException("no");
        });
        assertThatThrownBy(() -> broken.reduceLocal(DataBuffer.of(new int[1]), DataBuffer.of(new int[1])))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("no");
    }
}
