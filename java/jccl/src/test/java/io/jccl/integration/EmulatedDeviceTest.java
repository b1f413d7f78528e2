package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.ReduceOp;
import io.jccl.Work;
import io.jccl.nativelib.NativeDevice;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@link DeviceScenarios} on two emulated GPUs: the GPU backend from Java to its kernels, without driver or GPU. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EmulatedDeviceTest extends DeviceScenarios {

    private static final long GPU_PAGE_BYTES = 2 << 20;

    @BeforeAll
    static void emulate() {
        EmulatedGpus.use();
    }

    @Override
    CommunicatorConfig.Builder config() {
        return EmulatedGpus.config();
    }

    @Override
    Duration abortLimit() {
        return Duration.ofSeconds(20);
    }

    @Override
    int tortureRounds() {
        return 5;
    }

    @ParameterizedTest
    @CsvSource({
        "1, 1, ring, simple",
        "2, 1, ring, simple",
        "3, 1, ring, ll",
        "3, 1, ring, ll128",
        "2, 2, ring, ll",
        "4, 2, tree, simple",
        "2, 1, direct, ll",
        "4, 2, direct, ll"
    })
    void everyCollectiveGivesTheSameBitsAsInHostMemory(int size, int devices, String algorithm, String protocol) {
        DeviceCollectives.compare(size, devices, algorithm, protocol);
    }

    @Test
    void scansAreRefusedBeforeTheyTouchAnything() {
        try (LocalRanks ranks = LocalRanks.start(
                2, DeviceCollectives.config("ring", "simple").device(0).build())) {
            ranks.run(comm -> {
                try (DeviceMemory memory = new DeviceMemory(0, 4096)) {
                    memory.put(new byte[] {1, 2, 3, 4});
                    DataBuffer buffer = memory.elements(1, DataType.INT32);
                    for (Runnable call : List.<Runnable>of(
                            () -> comm.scan(buffer, ReduceOp.SUM),
                            () -> comm.group(g -> g.exscan(buffer, ReduceOp.SUM)))) {
                        assertThatIllegalArgumentException()
                                .isThrownBy(call::run)
                                .withMessageContaining("scans have no kernel; copy the elements to memory of the host");
                    }
                    assertThat(memory.get(4)).containsExactly(1, 2, 3, 4);
                    EmulatedGpus.sumUp(comm, 0);
                }
            });
        }
    }

    /**
     * The buffer spans two allocations, which the emulated driver makes adjacent. A driver describes only one of the
     * allocations, so peers may not reach the whole buffer.
     */
    @Test
    void bufferInTwoAllocationsIsWarnedOfOnce() {
        long first = NativeDevice.allocateMemory(0, GPU_PAGE_BYTES);
        long second = NativeDevice.allocateMemory(0, GPU_PAGE_BYTES);
        assertThat(second).isEqualTo(first + GPU_PAGE_BYTES);
        DataBuffer across = DataBuffer.device(second - 400, 200, DataType.INT32);
        CommunicatorConfig config = config().setting("JCCL_ALGO", "direct")
                .setting("JCCL_PROTO", "simple")
                .build();
        try (InitLog log = new InitLog("io.jccl.nativelib");
                LocalRanks ranks = LocalRanks.start(2, config);
                DeviceMemory memory = new DeviceMemory(0, 800)) {
            ranks.run(comm -> {
                DataBuffer buffer = comm.rank() == 0 ? across : memory.elements(200, DataType.INT32);
                for (int i = 0; i < 3; i++) {
                    comm.allReduce(buffer, ReduceOp.SUM).await();
                }
            });
            assertThat(log.lines())
                    .filteredOn(line -> line.contains("is more than its allocation"))
                    .singleElement()
                    .asString()
                    .startsWith("send buffer of rank=0 count=200")
                    .contains("cudaMemPoolSetAccess");
        }
        NativeDevice.freeMemory(0, first);
        NativeDevice.freeMemory(0, second);
    }

    @Test
    void noOperationOccupiesMoreBlocksThanTheApplicationAllows() {
        CommunicatorConfig config = config().maxBlocks(2).build();
        try (LocalRanks ranks = LocalRanks.start(2, config)) {
            ranks.run(comm -> {
                try (DeviceMemory memory = new DeviceMemory(0, 4 << 20)) {
                    DataBuffer buffer = memory.elements(1 << 20, DataType.INT32);
                    Work work = comm.allReduce(buffer, ReduceOp.SUM);
                    work.await();
                    assertThat(work.execution().channels()).isEqualTo(2);
                }
            });
        }
    }

    @Test
    void tooManyRanksOnAGpuAreRefused() {
        assertThatThrownBy(() -> LocalRanks.start(9, config().build()).close())
                .hasMessageContaining("ranks=9 blocks=8: more ranks share this GPU than blocks");
    }
}
