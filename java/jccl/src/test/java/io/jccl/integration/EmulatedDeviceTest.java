package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.AbortedException;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.ReduceOp;
import io.jccl.Work;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The GPU backend from Java to its kernels, on GPUs that the emulator plays: two of them, no driver and no GPU needed. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EmulatedDeviceTest {

    @BeforeAll
    static void emulate() {
        EmulatedGpus.use();
    }

    private static CommunicatorConfig config() {
        return EmulatedGpus.config().build();
    }

    @ParameterizedTest
    @CsvSource({
        "1, 1, ring, simple",
        "2, 1, ring, simple",
        "3, 1, ring, ll",
        "3, 1, ring, ll128",
        "2, 2, ring, ll",
        "4, 2, tree, simple"
    })
    void everyCollectiveHasTheHostsBits(int size, int devices, String algorithm, String protocol) {
        DeviceCollectives.compare(size, devices, algorithm, protocol);
    }

    @Test
    void choosesByItselfOnSeveralChannels() {
        try (LocalRanks ranks = LocalRanks.start(2, config())) {
            ranks.run(comm -> {
                int count = 20_000;
                byte[] bytes = new byte[4 * count];
                IntStream.range(0, bytes.length).forEach(i -> bytes[i] = (byte) (i % 4 == 0 ? i / 4 % 100 : 0));
                try (DeviceMemory memory = new DeviceMemory(0, bytes.length)) {
                    memory.put(bytes);
                    Work work =
                            comm.on(memory.stream()).allReduce(memory.elements(count, DataType.INT32), ReduceOp.SUM);
                    byte[] sum = memory.get(bytes.length);
                    IntStream.range(0, bytes.length).forEach(i -> bytes[i] *= 2);
                    assertThat(sum).isEqualTo(bytes);
                    work.await();
                    assertThat(work.execution().channels()).isPositive();
                }
            });
        }
    }

    /** Counters advance on the device: a graph can be replayed between other operations, as often as all ranks do. */
    @Test
    void capturedOperationsAreReplayed() {
        try (LocalRanks ranks = LocalRanks.start(2, config())) {
            ranks.run(comm -> {
                int count = 3000;
                try (DeviceMemory memory = new DeviceMemory(0, 8 * count)) {
                    DataBuffer values = memory.elements(count, DataType.INT64);
                    memory.putLongs(LongStream.range(0, count));
                    DeviceMemory.Graph graph = memory.capture(() -> {
                        comm.on(memory.stream()).allReduce(values, ReduceOp.SUM);
                        comm.on(memory.stream()).broadcast(values, 1);
                    });
                    for (int replay = 1; replay <= 5; replay++) {
                        graph.replay();
                        comm.on(memory.stream()).allReduce(values, ReduceOp.MAX);
                        int times = 1 << replay;
                        assertThat(memory.longs(count))
                                .isEqualTo(LongStream.range(0, count)
                                        .map(i -> i * times)
                                        .toArray());
                    }
                    comm.barrier().await();
                    graph.close();
                }
            });
        }
    }

    /** In their order, as if one by one: what a member wrote is what a later one reads, and so in every replay. */
    @Test
    void groupsHappenInTheirOrderAndAreReplayed() {
        try (LocalRanks ranks = LocalRanks.start(3, config())) {
            ranks.run(comm -> {
                try (DeviceMemory memory = new DeviceMemory(0, OrderedGroup.BYTES)) {
                    OrderedGroup group = new OrderedGroup(comm, memory);
                    DeviceMemory.Graph graph = memory.capture(group::issue);
                    for (int replay = 1, times = 3; replay <= 3; replay++, times *= 3) {
                        graph.replay();
                        group.require(times, times / 3);
                    }
                    comm.barrier().await();
                    graph.close();
                }
            });
        }
    }

    @Test
    void aCommunicatorIsCapturedOnOneStream() {
        try (LocalRanks ranks = LocalRanks.start(1, config());
                DeviceMemory one = new DeviceMemory(0, 64);
                DeviceMemory other = new DeviceMemory(0, 64)) {
            one.capture(() -> ranks.get(0).on(one.stream()).barrier()).close();
            assertThatThrownBy(() ->
                            other.capture(() -> ranks.get(0).on(other.stream()).barrier()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("capture its operations on one stream");
        }
    }

    @Test
    void abortEndsAKernelThatSpins() {
        try (LocalRanks ranks = LocalRanks.start(2, config());
                DeviceMemory memory = new DeviceMemory(0, 4096)) {
            Work alone = ranks.get(0).allReduce(memory.elements(1024, DataType.FLOAT32), ReduceOp.SUM);
            assertThat(alone.isDone()).isFalse();
            long start = System.nanoTime();
            ranks.get(1).abort();
            assertThatThrownBy(alone::await).isInstanceOf(AbortedException.class);
            assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(20));
        }
    }

    @Test
    void tooManyRanksOnAGpuAreRefused() {
        assertThatThrownBy(() -> LocalRanks.start(9, config()).close())
                .hasMessageContaining("ranks=9 blocks=8: more ranks share this GPU than blocks");
    }

    @Test
    void twoRanksOnOneStreamAreRefused() {
        try (LocalRanks ranks = LocalRanks.start(2, config());
                DeviceMemory memory = new DeviceMemory(0, 4096)) {
            ranks.get(0).on(memory.stream()).barrier();
            assertThatThrownBy(() -> ranks.get(1).on(memory.stream()).barrier())
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("give rank=1 a stream of its own");
            try (DeviceMemory other = new DeviceMemory(0, 1)) {
                ranks.get(1).on(other.stream()).barrier().await();
            }
        }
    }
}
