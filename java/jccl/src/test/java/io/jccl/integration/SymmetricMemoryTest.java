package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.JcclException;
import io.jccl.ReduceOp;
import io.jccl.SymmetricMemory;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Symmetric memory of hosts, and of emulated GPUs whose ranks are threads of one process. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SymmetricMemoryTest {

    private static final int COUNT = 1000;
    private static final int BYTES = Long.BYTES * COUNT;

    @Test
    void memoryOfTheHostIsZeroedSummedInPlaceAndFreed() {
        try (LocalRanks ranks = LocalRanks.start(3)) {
            ranks.run(comm -> {
                SymmetricMemory memory = comm.allocateSymmetric(BYTES);
                assertThat(memory.bytes()).isEqualTo(BYTES);
                assertThat(memory.isInPlace()).isTrue();
                comm.allReduce(memory.as(DataType.INT64), ReduceOp.SUM).await();
                long[] sums = new long[COUNT];
                comm.broadcast(memory.as(DataType.INT64), 0).await();
                comm.allReduce(memory.elements(DataType.INT64), DataBuffer.of(sums), ReduceOp.SUM)
                        .await();
                assertThat(sums).containsOnly(0);
                memory.close();
                memory.close();
                assertThatThrownBy(() -> memory.as(DataType.INT64))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("closed");
            });
        }
    }

    @Test
    void memoryOfGpusIsSummedInPlaceByThreadsOfAProcess() {
        sumOnGpus(EmulatedGpus.config().build(), true);
    }

    @Test
    void memoryOfGpusIsSummedIfTheHostExecutesOperations() {
        sumOnGpus(EmulatedGpus.config().setting("JCCL_GPU_HOST_STAGING", "on").build(), false);
    }

    private static void sumOnGpus(CommunicatorConfig config, boolean inPlace) {
        EmulatedGpus.use();
        try (LocalRanks ranks = LocalRanks.start(2, config)) {
            ranks.run(comm -> {
                try (SymmetricMemory memory = comm.allocateSymmetric(BYTES);
                        DeviceMemory view = new DeviceMemory(
                                0, BYTES, memory.as(DataType.INT8).address())) {
                    assertThat(memory.isInPlace()).isEqualTo(inPlace);
                    assertThat(view.longs(COUNT)).containsOnly(0);
                    long[] own = new long[COUNT];
                    Arrays.fill(own, comm.rank() + 1);
                    view.putLongs(Arrays.stream(own));
                    comm.on(view.stream())
                            .allReduce(memory.as(DataType.INT64), ReduceOp.SUM)
                            .await();
                    assertThat(view.longs(COUNT)).containsOnly(3);
                }
            });
        }
    }

    @Test
    void sizesThatDifferOrAreNotPositiveAreRefusedOnAllRanks() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                assertThatThrownBy(() -> comm.allocateSymmetric(BYTES + comm.rank()))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("bytes=8000 on rank=0, bytes=8001 on rank=1");
                assertThatThrownBy(() -> comm.allocateSymmetric(comm.rank()))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("at least 1");
                requireWorking(comm);
            });
        }
    }

    @Test
    void memoryThatOneRankCannotAllocateIsRefusedOnAllRanks() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                assertThatThrownBy(() -> comm.allocateSymmetric(1L << 60))
                        .isInstanceOf(JcclException.class)
                        .hasMessageContaining("rank=0 cannot allocate the memory");
                requireWorking(comm);
            });
        }
    }

    private static void requireWorking(Communicator comm) {
        assertThat(comm.allReduce(1L, ReduceOp.SUM)).isEqualTo(comm.size());
    }

    @Test
    void closingTheCommunicatorEndsTheMemory() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                SymmetricMemory memory = comm.allocateSymmetric(BYTES);
                comm.close();
                assertThatThrownBy(() -> memory.slice(0, 1, DataType.INT64))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("its communicator is closed");
                memory.close();
            });
        }
    }

    @Test
    void elementsOutsideOfTheMemoryAreRefused() {
        try (LocalRanks ranks = LocalRanks.start(1);
                SymmetricMemory memory = ranks.get(0).allocateSymmetric(16)) {
            assertThat(memory.slice(8, 1, DataType.INT64).count()).isOne();
            assertThatThrownBy(() -> memory.slice(9, 1, DataType.INT64))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("offsetBytes=9 count=1 type=int64: lies outside of this memory of bytes=16");
        }
    }
}
