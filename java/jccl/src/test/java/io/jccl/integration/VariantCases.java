package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.ReduceOp;
import io.jccl.Reduction;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * Variants of collectives that {@link CollectiveCase} does not cover: v-forms, lists of buffers, user-defined
 * reductions, objects, single numbers. Every result must be exact.
 */
public final class VariantCases {

    private static final int[] COUNTS = {0, 1, 5, 1003, 40_009};

    /** Number of elements of a 2 x 2 matrix. */
    static final int MATRIX = 4;

    /** Multiplies 2 x 2 matrices of integers, stored by rows: associative, but not commutative. */
    static final Reduction PRODUCT =
            Reduction.of("matrix-product", VariantCases::multiply).unit(MATRIX);

    /** Keeps the pair with the larger first element, or, if these are equal, with the smaller second element. */
    static final Reduction LARGEST =
            Reduction.of("largest", VariantCases::largest).unit(2).commutative();

    private VariantCases() {}

    /** Executes all variants on this rank, and checks their results. */
    public static void check(Communicator comm) {
        for (int count : COUNTS) {
            for (DataBuffer.Memory memory :
                    List.of(DataBuffer.Memory.DIRECT, DataBuffer.Memory.SHARED, DataBuffer.Memory.HEAP)) {
                try (Numbers numbers = new Numbers(memory)) {
                    gathersAndScatters(comm, count, numbers);
                    reduceScattersInPlace(comm, count, numbers);
                    reductions(comm, count, numbers);
                }
            }
        }
        lists(comm);
        objects(comm);
        assertThat(comm.allReduce(comm.rank() + 0.5, ReduceOp.MAX)).isEqualTo(comm.size() - 0.5);
        assertThat(comm.allReduce(1L << comm.rank(), ReduceOp.BOR)).isEqualTo((1L << comm.size()) - 1);
    }

    /** Allocates buffers of integers in one kind of memory. */
    private static final class Numbers implements AutoCloseable {

        private final DataBuffer.Memory memory;
        private final List<HostBuffer> shared = new ArrayList<>();

        Numbers(DataBuffer.Memory memory) {
            this.memory = memory;
        }

        LongBuffer of(long... values) {
            LongBuffer buffer =
                    switch (memory) {
                        case SHARED -> {
                            HostBuffer one = HostBuffer.allocate(Math.max(1, values.length) * (long) Long.BYTES);
                            shared.add(one);
                            yield one.asByteBuffer(0, values.length * Long.BYTES)
                                    .asLongBuffer();
                        }
                        case HEAP -> LongBuffer.wrap(new long[values.length + 3], 2, values.length)
                                .slice();
                        default -> ByteBuffer.allocateDirect(values.length * Long.BYTES)
                                .order(ByteOrder.nativeOrder())
                                .asLongBuffer();
                    };
            return buffer.put(0, values);
        }

        LongBuffer empty(long elements) {
            long[] unset = new long[(int) elements];
            Arrays.fill(unset, -7);
            return of(unset);
        }

        @Override
        public void close() {
            shared.forEach(HostBuffer::close);
        }
    }

    private static long[] values(int rank, long elements) {
        long[] values = new long[(int) elements];
        Arrays.setAll(values, i -> (rank + 3L) * 1_000_003 + i * 7L % 11);
        return values;
    }

    private static long[] array(LongBuffer buffer) {
        long[] all = new long[buffer.remaining()];
        buffer.get(buffer.position(), all);
        return all;
    }

    private static void gathersAndScatters(Communicator comm, int count, Numbers numbers) {
        int rank = comm.rank();
        int size = comm.size();
        long[] counts = new long[size];
        Arrays.setAll(counts, each -> each % 3 == 1 ? 0 : (count + each) / (each + 1));
        int total = (int) Arrays.stream(counts).sum();
        int before = (int) Arrays.stream(counts).limit(rank).sum();
        long[] expected = new long[total];
        int at = 0;
        for (int each = 0; each < size; each++) {
            System.arraycopy(values(each, counts[each]), 0, expected, at, (int) counts[each]);
            at += (int) counts[each];
        }
        for (int root = 0; root < size; root++) {
            LongBuffer all = rank == root ? numbers.empty(total) : null;
            LongBuffer mine = numbers.of(values(rank, counts[rank]));
            comm.gatherV(DataBuffer.of(mine), all == null ? null : DataBuffer.of(all), counts, root)
                    .await();
            assertThat(all == null ? expected : array(all)).isEqualTo(expected);

            LongBuffer block = numbers.empty(counts[rank]);
            comm.scatterV(all == null ? null : DataBuffer.of(all), counts, DataBuffer.of(block), root)
                    .await();
            assertThat(array(block)).isEqualTo(values(rank, counts[rank]));

            if (all != null) { // in place at the root
                DataBuffer whole = DataBuffer.of(all);
                all.put(0, new long[total]);
                all.put(before, values(rank, counts[rank]));
                DataBuffer own = whole.slice(before, counts[rank]);
                comm.gatherV(own, whole, counts, root).await();
                assertThat(array(all)).isEqualTo(expected);
                comm.scatterV(whole, counts, own, root).await();
                assertThat(array(all)).isEqualTo(expected);
            } else {
                comm.gatherV(DataBuffer.of(mine), null, counts, root).await();
                comm.scatterV(null, counts, DataBuffer.of(block), root).await();
            }
            countsOfTheRoot(comm, counts, root, numbers);
        }
    }

    /** Gathers and scatters blocks in reverse order with gaps, whose counts only the root passes. */
    private static void countsOfTheRoot(Communicator comm, long[] counts, int root, Numbers numbers) {
        int rank = comm.rank();
        int size = comm.size();
        long[] offsets = new long[size];
        int end = 2;
        for (int each = size - 1; each >= 0; each--) {
            offsets[each] = end;
            end += (int) counts[each] + 1;
        }
        long[] untouched = array(numbers.empty(end));
        long[] expected = untouched.clone();
        for (int each = 0; each < size; each++) {
            System.arraycopy(values(each, counts[each]), 0, expected, (int) offsets[each], (int) counts[each]);
        }
        boolean isRoot = rank == root;
        LongBuffer all = isRoot ? numbers.empty(end) : null;
        DataBuffer whole = isRoot ? DataBuffer.of(all) : null;
        long[] known = isRoot ? counts : null;
        LongBuffer mine = numbers.of(values(rank, counts[rank]));
        LongBuffer block = numbers.empty(counts[rank]);
        comm.gatherV(DataBuffer.of(mine), whole, known, isRoot ? offsets : null, root)
                .await();
        comm.scatterV(whole, known, isRoot ? offsets : null, DataBuffer.of(block), root)
                .await();
        assertThat(array(block)).isEqualTo(values(rank, counts[rank]));
        assertThat(isRoot ? array(all) : expected).isEqualTo(expected);
        if (isRoot) { // in place
            all.put(0, untouched);
            all.put((int) offsets[rank], values(rank, counts[rank]));
        }
        DataBuffer own = isRoot ? whole.slice(offsets[rank], counts[rank]) : DataBuffer.of(mine);
        comm.gatherV(own, whole, known, isRoot ? offsets : null, root).await();
        comm.scatterV(whole, known, isRoot ? offsets : null, own, root).await();
        assertThat(array(mine)).isEqualTo(values(rank, counts[rank]));
        assertThat(isRoot ? array(all) : expected).isEqualTo(expected);
    }

    private static void reduceScattersInPlace(Communicator comm, int count, Numbers numbers) {
        int rank = comm.rank();
        int size = comm.size();
        List<long[]> all = IntStream.range(0, size)
                .mapToObj(each -> values(each, (long) count * size))
                .toList();
        long[] expected = all.get(rank).clone();
        for (int i = rank * count; i < (rank + 1) * count; i++) {
            expected[i] = 0;
            for (int each = 0; each < size; each++) {
                expected[i] += all.get(each)[i];
            }
        }
        LongBuffer buffer = numbers.of(all.get(rank));
        comm.reduceScatter(DataBuffer.of(buffer), ReduceOp.SUM).await();
        assertThat(array(buffer)).isEqualTo(expected);
    }

    private static void reductions(Communicator comm, int count, Numbers numbers) {
        int units = Math.max(1, count / MATRIX) * (count == 0 ? 0 : 1);
        for (Reduction reduction : List.of(PRODUCT, LARGEST)) {
            int all = units * reduction.unit();
            long[] folded = folded(comm.size(), reduction, all);
            allReduceAndReduce(comm, reduction, numbers, all, folded);
            reduceScatters(comm, reduction, numbers, units);
        }
    }

    private static void allReduceAndReduce(
            Communicator comm, Reduction reduction, Numbers numbers, int all, long[] folded) {
        int rank = comm.rank();
        LongBuffer send = numbers.of(elements(rank, all));
        LongBuffer recv = numbers.empty(all);
        comm.allReduce(DataBuffer.of(send), DataBuffer.of(recv), reduction).await();
        assertThat(array(recv)).as("all_reduce %s", reduction).isEqualTo(folded);
        assertThat(array(send)).isEqualTo(elements(rank, all));
        comm.allReduce(DataBuffer.of(send), reduction).await();
        assertThat(array(send)).as("all_reduce in place, %s", reduction).isEqualTo(folded);
        int root = comm.size() - 1;
        LongBuffer input = numbers.of(elements(rank, all));
        LongBuffer result = numbers.empty(all);
        comm.reduce(DataBuffer.of(input), rank == root ? DataBuffer.of(result) : null, reduction, root)
                .await();
        assertThat(array(result)).isEqualTo(rank == root ? folded : array(numbers.empty(all)));
        assertThat(array(input)).isEqualTo(elements(rank, all));
    }

    private static void reduceScatters(Communicator comm, Reduction reduction, Numbers numbers, int units) {
        int rank = comm.rank();
        int size = comm.size();
        int block = units * reduction.unit();
        long[] folded = folded(size, reduction, block * size);
        LongBuffer mine = numbers.empty(block);
        comm.reduceScatter(DataBuffer.of(numbers.of(elements(rank, block * size))), DataBuffer.of(mine), reduction)
                .await();
        assertThat(array(mine)).isEqualTo(Arrays.copyOfRange(folded, rank * block, (rank + 1) * block));

        long[] counts = new long[size];
        Arrays.setAll(counts, each -> each % 2 == 1 ? 0 : (long) (units + each) * reduction.unit());
        int total = (int) Arrays.stream(counts).sum();
        int before = (int) Arrays.stream(counts).limit(rank).sum();
        long[] expected = Arrays.copyOfRange(folded(size, reduction, total), before, before + (int) counts[rank]);
        LongBuffer whole = numbers.of(elements(rank, total));
        DataBuffer send = DataBuffer.of(whole);
        comm.reduceScatterV(send, send.slice(before, counts[rank]), counts, reduction)
                .await();
        assertThat(Arrays.copyOfRange(array(whole), before, before + (int) counts[rank]))
                .isEqualTo(expected);
    }

    /** Returns the elements that a rank contributes to a reduction. */
    static long[] elements(int rank, int count) {
        long[] values = new long[count];
        Arrays.setAll(values, i -> (i * 31L + rank * 17L + 5) % 23 - 7);
        return values;
    }

    /** Returns the reduction of all ranks' elements, in rank order. */
    static long[] folded(int ranks, Reduction reduction, int count) {
        ByteBuffer accumulator = bytes(elements(0, count));
        for (int rank = 1; rank < ranks; rank++) {
            reduction.function().orElseThrow().fold(accumulator, bytes(elements(rank, count)));
        }
        return array(accumulator.asLongBuffer());
    }

    private static ByteBuffer bytes(long[] values) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(values.length * Long.BYTES).order(ByteOrder.nativeOrder());
        bytes.asLongBuffer().put(values);
        return bytes;
    }

    private static void multiply(ByteBuffer accumulator, ByteBuffer next) {
        LongBuffer left = accumulator.asLongBuffer();
        LongBuffer right = next.asLongBuffer();
        long[] a = new long[MATRIX];
        long[] b = new long[MATRIX];
        for (int at = 0; at < left.limit(); at += MATRIX) {
            left.get(at, a);
            right.get(at, b);
            left.put(at, a[0] * b[0] + a[1] * b[2]).put(at + 1, a[0] * b[1] + a[1] * b[3]);
            left.put(at + 2, a[2] * b[0] + a[3] * b[2]).put(at + 3, a[2] * b[1] + a[3] * b[3]);
        }
    }

    private static void largest(ByteBuffer accumulator, ByteBuffer next) {
        LongBuffer kept = accumulator.asLongBuffer();
        LongBuffer other = next.asLongBuffer();
        for (int at = 0; at < kept.limit(); at += 2) {
            int order = Long.compare(other.get(at), kept.get(at));
            if (order > 0 || order == 0 && other.get(at + 1) < kept.get(at + 1)) {
                kept.put(at, other.get(at)).put(at + 1, other.get(at + 1));
            }
        }
    }

    /** All-reduces lists of buffers that differ in type, kind of memory and size. */
    private static void lists(Communicator comm) {
        int rank = comm.rank();
        long ranks = comm.size();
        long sum = ranks * (ranks - 1) / 2;
        try (HostBuffer shared = HostBuffer.allocate(3 * Long.BYTES)) {
            float[] floats = {rank, 1};
            double[] none = {};
            double[] large = new double[50_000];
            Arrays.fill(large, rank);
            long[] numbers = {rank, 10L * rank};
            LongBuffer direct = ResultsTest.longs(rank, 5);
            shared.asByteBuffer(0, 3 * Long.BYTES).putLong(8, rank);
            List<DataBuffer> all = List.of(
                    DataBuffer.of(floats),
                    DataBuffer.of(none),
                    DataBuffer.of(large),
                    DataBuffer.of(numbers),
                    DataBuffer.of(direct),
                    shared.as(DataType.INT64));
            comm.allReduce(all, ReduceOp.SUM).await();
            assertThat(floats).containsExactly(sum, ranks);
            assertThat(large).containsOnly(sum);
            assertThat(numbers).containsExactly(sum, 10 * sum);
            assertThat(ResultsTest.toArray(direct)).containsExactly(sum, 5 * ranks);
            assertThat(shared.asByteBuffer(0, 3 * Long.BYTES).getLong(8)).isEqualTo(sum);
            float[] second = {4};
            comm.group(group -> group.allReduce(List.of(DataBuffer.of(numbers), DataBuffer.of(second)), ReduceOp.MAX)
                            .broadcast(DataBuffer.of(floats), 0))
                    .await();
            assertThat(numbers).containsExactly(sum, 10 * sum);
            assertThat(second).containsExactly(4);
        }
        smallBuffersInManyPacks(comm);
    }

    private static void smallBuffersInManyPacks(Communicator comm) {
        List<float[]> arrays = new ArrayList<>();
        for (int i = 0; i < 150; i++) { // buffers for three packs
            float[] values = new float[i % 7 == 0 ? 0 : 100 + 37 * i];
            Arrays.fill(values, i + comm.rank());
            arrays.add(values);
        }
        comm.allReduce(arrays.stream().map(DataBuffer::of).toList(), ReduceOp.AVG)
                .await();
        for (int i = 0; i < arrays.size(); i++) {
            float average = (i * comm.size() + comm.size() * (comm.size() - 1) / 2f) / comm.size();
            for (float value : arrays.get(i)) {
                assertThat(value).isEqualTo(average);
            }
        }
    }

    private static void objects(Communicator comm) {
        IntFunction<byte[]> bytes = length -> {
            byte[] all = new byte[length];
            Arrays.fill(all, (byte) length);
            return all;
        };
        for (int length : new int[] {0, 1, 1020, 1021, 100_000}) {
            int root = length % comm.size();
            byte[] sent = comm.rank() == root ? bytes.apply(length) : null;
            assertThat(comm.broadcastObject(sent, root)).isEqualTo(bytes.apply(length));
        }
        List<byte[]> all = comm.allGatherObject(bytes.apply(comm.rank() * 1000));
        for (int rank = 0; rank < comm.size(); rank++) {
            assertThat(all.get(rank)).isEqualTo(bytes.apply(rank * 1000));
        }
        assertThat(comm.allGatherObject(new byte[0])).hasSize(comm.size()).allSatisfy(one -> assertThat(one)
                .isEmpty());
    }
}
