package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.ReduceOp;
import io.jccl.StreamOperations;
import io.jccl.Work;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Holds what an operation on a GPU costs the thread that issues it: calls of native methods, and bytes of the Java heap.
 * The GPUs are emulated.
 */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DeviceCrossingsTest {

    private static final int ROUNDS = 200;
    private static final int GROUP = 8;
    private static final int ELEMENTS = 64;
    /** Bytes of one call and its Work; measured: 232. */
    private static final long OPERATION_BYTES = 256;

    private static LocalRanks ranks;
    private static final List<DeviceMemory> MEMORIES = new ArrayList<>();
    private static final List<DataBuffer> BUFFERS = new ArrayList<>();

    @BeforeAll
    static void start() throws Exception {
        EmulatedGpus.use();
        ranks = LocalRanks.start(2, EmulatedGpus.config().build());
        for (int rank = 0; rank < 2; rank++) {
            MEMORIES.add(new DeviceMemory(0, ELEMENTS * Float.BYTES));
            BUFFERS.add(MEMORIES.get(rank).elements(ELEMENTS, DataType.FLOAT32));
        }
        Crossings.begin();
    }

    @AfterAll
    static void close() {
        if (ranks != null) {
            ranks.close();
            MEMORIES.forEach(DeviceMemory::close);
        }
    }

    /** Issues one rank's part of an operation; {@code measured} is around the call to measure. */
    @FunctionalInterface
    private interface Part {
        Work issue(int rank, UnaryOperator<Supplier<Work>> measured);
    }

    /** The least costs of rank 0 in several rounds: other threads call natives, and a compiler changes what is allocated. */
    private static final class Costs implements UnaryOperator<Supplier<Work>> {

        private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        private Map<String, Long> calls = Map.of("none was measured", Long.MAX_VALUE);
        private long bytes = Long.MAX_VALUE;

        @Override
        public Supplier<Work> apply(Supplier<Work> body) {
            return () -> {
                Map<String, Long> before = Crossings.calls();
                long allocated = threads.getCurrentThreadAllocatedBytes();
                Work work = body.get();
                bytes = Math.min(bytes, threads.getCurrentThreadAllocatedBytes() - allocated);
                Map<String, Long> made = Crossings.calls();
                before.forEach((name, number) -> made.merge(name, -number, Long::sum));
                made.values().removeIf(number -> number == 0);
                calls = total(made) < total(calls) ? made : calls;
                return work;
            };
        }
    }

    /** Measures the part of rank 0 after rank 1 has issued its own. */
    private static Costs costs(Part part) {
        Costs costs = new Costs();
        for (int round = 0; round < ROUNDS; round++) {
            Work other = part.issue(1, body -> body);
            part.issue(0, costs).await();
            other.await();
        }
        return costs;
    }

    private static long total(Map<String, Long> calls) {
        return calls.values().stream().mapToLong(Long::longValue).sum();
    }

    private static void requireOneCall(Costs costs) {
        assertThat(costs.calls).isEqualTo(Map.of("DeviceEngine.run", 1L));
        assertThat(costs.bytes).isPositive().isLessThanOrEqualTo(OPERATION_BYTES);
    }

    private static Work sum(int rank) {
        return ranks.get(rank).allReduce(BUFFERS.get(rank), ReduceOp.SUM);
    }

    @Test
    void anEagerOperationCrossesOnce() {
        requireOneCall(costs((rank, measured) -> measured.apply(() -> sum(rank)).get()));
    }

    @Test
    void anAwaitedOperationCrossesOnce() {
        Supplier<Work> awaited = () -> {
            Work work = sum(0);
            work.await();
            return work;
        };
        requireOneCall(costs(
                (rank, measured) -> rank == 1 ? sum(1) : measured.apply(awaited).get()));
    }

    @Test
    void anOperationOnAStreamOfTheApplicationCrossesOnce() {
        List<StreamOperations> onStreams = IntStream.range(0, 2)
                .mapToObj(rank -> ranks.get(rank).on(MEMORIES.get(rank).stream()))
                .toList();
        requireOneCall(costs(
                (rank, measured) -> measured.apply(() -> onStreams.get(rank).allReduce(BUFFERS.get(rank), ReduceOp.SUM))
                        .get()));
    }

    @Test
    void aCapturedOperationCrossesOnce() {
        requireOneCall(costs((rank, measured) -> {
            DeviceMemory memory = MEMORIES.get(rank);
            StreamOperations onStream = ranks.get(rank).on(memory.stream());
            Work[] captured = new Work[1];
            memory.capture(() -> captured[0] = measured.apply(() -> onStream.allReduce(BUFFERS.get(rank), ReduceOp.SUM))
                            .get())
                    .close();
            return captured[0];
        }));
    }

    @Test
    void aGroupCrossesOnceForEachOperationAndTwiceMore() {
        Costs costs =
                costs((rank, measured) -> measured.apply(() -> ranks.get(rank).group(group -> {
                            for (int i = 0; i < GROUP; i++) {
                                group.allReduce(BUFFERS.get(rank), ReduceOp.SUM);
                            }
                        }))
                        .get());
        assertThat(costs.calls)
                .isEqualTo(Map.of(
                        "DeviceEngine.beginGroup", 1L,
                        "DeviceEngine.run", (long) GROUP,
                        "DeviceEngine.endGroup", 1L));
        assertThat(costs.bytes).isPositive().isLessThanOrEqualTo(GROUP * OPERATION_BYTES);
    }
}
