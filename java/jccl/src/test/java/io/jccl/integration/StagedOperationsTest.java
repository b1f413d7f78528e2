package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.PeerFailedException;
import io.jccl.ReduceOp;
import io.jccl.UniqueId;
import io.jccl.Work;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Operations on device memory that the host executes, because processes share a GPU without an MPS server or because a
 * setting requires it. The GPUs are emulated; each process has its own.
 */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StagedOperationsTest {

    private static final Duration LIMIT = Duration.ofSeconds(120);

    @TempDir
    Path folder;

    @BeforeAll
    static void emulate() {
        EmulatedGpus.use();
    }

    private static CommunicatorConfig.Builder staged(CommunicatorConfig.Builder config) {
        return config.setting("JCCL_GPU_HOST_STAGING", "on");
    }

    private static CommunicatorConfig config() {
        return staged(EmulatedGpus.config()).build();
    }

    @ParameterizedTest
    @CsvSource({"1, ring, simple", "2, ring, ll", "3, tree, simple", "4, direct, ll128"})
    void everyCollectiveGivesTheSameBitsAsInHostMemory(int size, String algorithm, String protocol) {
        DeviceCollectives.compare(size, 2, algorithm, protocol, (rank, config) -> staged(config));
    }

    @Test
    void collectivesBetweenHostsGiveTheSameBitsAsInHostMemory() {
        DeviceCollectives.compare(3, 1, "ring", "simple", (rank, config) -> staged(config.hostId("host" + rank / 2)));
    }

    /** Compares integers, because sums of floats depend on how a buffer is divided into chunks. */
    @ParameterizedTest
    @CsvSource({"1, 8K", "2, 8K", "3, 8K", "4, 50K"})
    void everyCollectiveIsRightInChunks(int size, String bytes) {
        CommunicatorConfig config = staged(DeviceCollectives.config("ring", "simple"))
                .setting("JCCL_GPU_HOST_STAGING_BUFFSIZE", bytes)
                .device(0)
                .build();
        try (LocalRanks ranks = LocalRanks.start(size, config)) {
            ranks.run(comm -> DeviceCollectives.compareAll(comm, 0, 7L * size, type -> !type.isFloating()));
            ranks.run(comm -> DeviceCollectives.compareScans(comm, 0, 7L * size, type -> !type.isFloating()));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5})
    void scansGiveTheSameBitsAsInHostMemory(int size) {
        CommunicatorConfig config =
                staged(DeviceCollectives.config("direct", "simple")).device(0).build();
        try (LocalRanks ranks = LocalRanks.start(size, config)) {
            ranks.run(comm -> DeviceCollectives.compareScans(comm, 0, 3L * size, type -> true));
        }
    }

    @ParameterizedTest
    @CsvSource({"auto, 0, true", "auto, 1, false", "off, 0, false", "on, 1, true"})
    void processesThatTimeSliceAGpuAreStaged(String setting, String mps, boolean staged) throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(
                UniqueId.create(),
                folder,
                2,
                rank -> List.of("env", "JCCL_EMULATED_MPS=" + mps),
                "device",
                EmulatedGpus.library(),
                setting)) {
            for (int rank = 0; rank < 2; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.output(rank)).isZero();
                assertThat(ranks.output(rank)).contains("RESULT ok");
                String reason = setting.equals("on")
                        ? "because JCCL_GPU_HOST_STAGING=on"
                        : "because ranks {0,1} share a GPU from different processes without an MPS server";
                String line = "rank=" + rank + " GPU operations: staged through memory of the host, which executes"
                        + " them, " + reason;
                assertThat(ranks.output(rank).contains(line))
                        .as(ranks.output(rank))
                        .isEqualTo(staged);
                assertThat(ranks.output(rank).contains("GPU operations: by kernels that wait a time slice"))
                        .as(ranks.output(rank))
                        .isEqualTo(setting.equals("off"));
            }
        }
    }

    @Test
    void threadsThatShareAGpuAreNotStaged() {
        try (InitLog log = new InitLog();
                LocalRanks ranks = LocalRanks.start(2, EmulatedGpus.config().build())) {
            assertThat(ranks.size()).isEqualTo(2);
            assertThat(log.lines()).noneMatch(line -> line.contains("GPU operations:"));
        }
    }

    /** Later work on a stream sees the results of earlier operations, although no thread awaits these operations. */
    @Test
    void operationsRunInTheOrderOfTheirStream() {
        try (LocalRanks ranks = LocalRanks.start(3, config())) {
            ranks.run(comm -> {
                int count = 5000;
                try (DeviceMemory one = new DeviceMemory(0, 8 * count);
                        DeviceMemory other = new DeviceMemory(0, 8)) {
                    one.putLongs(LongStream.range(0, count));
                    DataBuffer values = one.elements(count, DataType.INT64);
                    List<Work> works = new ArrayList<>();
                    for (int round = 0; round < 5; round++) {
                        works.add(comm.on(one.stream()).allReduce(values, ReduceOp.SUM));
                        works.add(comm.on(other.stream())
                                .broadcast(values, round % 3)); // on another stream, but after the all-reduce
                        works.add(comm.on(other.stream()).barrier());
                    }
                    works.add(comm.on(one.stream()).allReduce(values, ReduceOp.MAX));
                    assertThat(one.longs(count))
                            .isEqualTo(
                                    LongStream.range(0, count).map(i -> 243 * i).toArray());
                    works.forEach(Work::await);
                    assertThat(works.get(0).execution().channels()).isPositive();
                }
            });
        }
    }

    @Test
    void collectivesOfAGroupRunInOrderAfterItsTransfers() {
        try (LocalRanks ranks = LocalRanks.start(3, config())) {
            ranks.run(comm -> {
                try (DeviceMemory memory = new DeviceMemory(0, OrderedGroup.BYTES)) {
                    OrderedGroup group = new OrderedGroup(comm, memory);
                    Work work = group.issue();
                    // The host executes sends and receives of a group before the group's collectives.
                    group.require(3, 1);
                    work.toFuture().join();
                }
            });
        }
    }

    /** No message waits for another, whatever its size. A rank that sends to two others is blocked by neither. */
    @Test
    void messagesDoNotBlockEachOther() {
        CommunicatorConfig config = staged(EmulatedGpus.config())
                .setting("JCCL_GPU_HOST_STAGING_BUFFSIZE", "8K")
                .build();
        try (LocalRanks ranks = LocalRanks.start(3, config)) {
            ranks.run(comm -> {
                int count = 100_000;
                try (DeviceMemory memory = new DeviceMemory(0, 8 * count)) {
                    DataBuffer values = memory.elements(count, DataType.INT64);
                    if (comm.rank() == 0) {
                        memory.putLongs(LongStream.range(0, count));
                        comm.on(memory.stream())
                                .group(g -> g.send(2, values).send(1, values))
                                .await();
                    } else {
                        memory.putLongs(LongStream.range(0, count).map(i -> -i));
                        if (comm.rank() == 1) {
                            comm.on(memory.stream()).recv(0, values);
                            comm.on(memory.stream())
                                    .send(2, values.slice(0, 10))
                                    .await();
                        } else {
                            comm.on(memory.stream())
                                    .recv(1, values.slice(0, 10))
                                    .await();
                            comm.on(memory.stream()).recv(0, values);
                        }
                        assertThat(memory.longs(count))
                                .isEqualTo(LongStream.range(0, count).toArray());
                    }
                    comm.barrier().await();
                    assertThat(comm.memoryUsage().stagingBytes()).isGreaterThanOrEqualTo(8L * count);
                }
            });
        }
    }

    @Test
    void capturingIsRefused() {
        try (LocalRanks ranks = LocalRanks.start(2, config())) {
            EmulatedGpus.requireNoCapture(ranks, "barrier(): operations of this communicator cannot be captured");
        }
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

    /** Tests more ranks on one GPU than there can be kernels that wait for each other. */
    @Test
    void anyNumberOfRanksSharesAGpu() {
        try (LocalRanks ranks = LocalRanks.start(9, config())) {
            ranks.run(comm -> {
                try (DeviceMemory memory = new DeviceMemory(0, 800)) {
                    memory.putLongs(LongStream.range(0, 100));
                    comm.on(memory.stream()).allReduce(memory.elements(100, DataType.INT64), ReduceOp.SUM);
                    assertThat(memory.longs(100))
                            .isEqualTo(LongStream.range(0, 100).map(i -> 9 * i).toArray());
                    comm.barrier().await(); // until all ranks have their sums
                }
            });
        }
    }

    @Test
    void ownersLearnOfTheEndOfOperationsThatNoThreadAwaits() throws InterruptedException {
        DeviceScenarios.requireCallbacks(config());
    }

    @Test
    void aKilledProcessIsNamed() throws Exception {
        try (ProcessRanks ranks = ProcessRanks.start(folder, 2, "device-work", EmulatedGpus.library(), "auto")) {
            for (int rank = 0; rank < 2; rank++) {
                ranks.awaitOutput(rank, text -> text.contains("READY"), LIMIT);
            }
            ranks.kill(1);
            ranks.awaitOutput(0, text -> text.contains("CLOSED"), LIMIT);
            assertThat(ranks.output(0)).contains(PeerFailedException.class.getSimpleName() + "[1]");
        }
    }
}
