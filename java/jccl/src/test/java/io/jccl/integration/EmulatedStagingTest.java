package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.jccl.AbortedException;
import io.jccl.Algorithm;
import io.jccl.CommunicationTimeoutException;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.Execution;
import io.jccl.PeerFailedException;
import io.jccl.Protocol;
import io.jccl.ReduceOp;
import io.jccl.Work;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * GPUs that cannot reach each other's memory. Data goes through host memory on one host, and over a network between
 * simulated hosts. The GPUs are emulated.
 */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EmulatedStagingTest {

    private static final Duration LIMIT = Duration.ofSeconds(120);

    @TempDir
    Path folder;

    @BeforeAll
    static void emulate() {
        EmulatedGpus.use();
    }

    /** Places the rank on a simulated host; a host has {@code each} ranks. */
    private static CommunicatorConfig.Builder onHost(int rank, int each, CommunicatorConfig.Builder config) {
        return config.hostId("host" + rank / each);
    }

    @ParameterizedTest
    @CsvSource({"2, 1, ring, simple", "3, 1, ring, ll", "4, 2, ring, simple", "4, 2, tree, ll", "3, 2, tree, simple"})
    void collectivesBetweenHostsGiveTheSameBitsAsInHostMemory(int size, int each, String algorithm, String protocol) {
        DeviceCollectives.compare(size, 2, algorithm, protocol, (rank, config) -> onHost(rank, each, config));
    }

    /** Network plug-ins always use SIMPLE, whatever protocol is configured. */
    @ParameterizedTest
    @CsvSource({"2, 1, 12", "4, 2, 6"})
    void networkPluginsCarryGpuMemory(int size, int each, int version) {
        String plugin = TestPlugins.library(version);
        DeviceCollectives.compare(
                size,
                2,
                "ring",
                "simple",
                (rank, config) -> onHost(rank, each, config.setting(TestPlugins.SETTING, plugin)));
        try (LocalRanks ranks = LocalRanks.start(
                size, rank -> onHost(rank, each, EmulatedGpus.config().setting(TestPlugins.SETTING, plugin))
                        .build())) {
            ranks.run(comm -> EmulatedGpus.sumUp(comm, 0));
        }
    }

    /**
     * Proxies keep lines of LL128 whole, but a GPU's link to its host may split them. Ranks therefore use LL128 only if
     * JCCL_LL128 forces it.
     */
    @Test
    void forcedLL128WorksBetweenHosts() {
        DeviceCollectives.compare(
                3, 1, "ring", "ll128", (rank, config) -> onHost(rank, 1, config.setting("JCCL_LL128", "force")));
    }

    @ParameterizedTest
    @CsvSource({"2, ring, simple", "3, ring, ll", "4, tree, simple", "3, direct, ll"})
    void everyCollectiveWithoutPeerAccessGivesTheSameBitsAsInHostMemory(int size, String algorithm, String protocol) {
        DeviceCollectives.compare(
                size, 2, algorithm, protocol, (rank, config) -> config.setting("JCCL_P2P_DISABLE", "1"));
    }

    /** On one host pairs that are staged are connected like others, so one hop is enough. */
    @Test
    void smallDataTakesOneHopThroughHostMemory() {
        try (LocalRanks ranks = LocalRanks.start(
                4,
                rank -> EmulatedGpus.config().setting("JCCL_P2P_DISABLE", "1").build())) {
            ranks.run(comm -> assertThat(smallSum(comm)).isEqualTo(new Execution(Algorithm.DIRECT, Protocol.LL, 1)));
        }
    }

    /** Between hosts rings and trees send fewer messages. */
    @Test
    void smallDataBetweenHostsDoesNotGoFromEachRankToEachOther() {
        try (LocalRanks ranks = LocalRanks.start(
                4, rank -> onHost(rank, 2, EmulatedGpus.config()).build())) {
            ranks.run(comm -> assertThat(smallSum(comm).algorithm()).isNotEqualTo(Algorithm.DIRECT));
        }
    }

    /** Sums up a number of each of four ranks, and returns how. */
    private static Execution smallSum(Communicator comm) {
        try (DeviceMemory memory = new DeviceMemory(0, 8)) {
            memory.putLongs(LongStream.of(comm.rank()));
            Work work = comm.on(memory.stream()).allReduce(memory.elements(1, DataType.INT64), ReduceOp.SUM);
            assertThat(memory.longs(1)).containsExactly(6);
            work.await();
            return work.execution();
        }
    }

    @ParameterizedTest
    @CsvSource({"2, shm", "3, shm", "2, socket"})
    void processesUseHostMemoryIfTheDriverSharesNone(int size, String transport) throws Exception {
        String[] arguments = new String[transport.equals("shm") ? 2 : 2 + size];
        arguments[0] = EmulatedGpus.library();
        arguments[1] = "off";
        for (int rank = 0; rank + 2 < arguments.length; rank++) {
            arguments[rank + 2] = "host" + rank;
        }
        try (ProcessRanks ranks = ProcessRanks.start(folder, size, "device", arguments)) {
            for (int rank = 0; rank < size; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.output(rank)).isZero();
                assertThat(ranks.output(rank))
                        .contains("RESULT ok")
                        .contains("through memory of the host, by " + transport + ", ");
            }
        }
    }

    @Test
    void automaticChoiceOnSeveralChannelsGivesTheExactResult() {
        try (LocalRanks ranks = LocalRanks.start(
                4, rank -> onHost(rank, 2, EmulatedGpus.config()).build())) {
            ranks.run(comm -> {
                int count = 200_000;
                try (DeviceMemory memory = new DeviceMemory(0, 8 * count)) {
                    DataBuffer values = memory.elements(count, DataType.INT64);
                    memory.putLongs(LongStream.range(0, count));
                    for (int round = 0; round < 3; round++) {
                        comm.on(memory.stream()).allReduce(values, ReduceOp.SUM);
                        comm.on(memory.stream()).allReduce(memory.elements(10, DataType.INT64), ReduceOp.MAX);
                    }
                    assertThat(memory.longs(count))
                            .isEqualTo(
                                    LongStream.range(0, count).map(i -> 64 * i).toArray());
                }
            });
        }
    }

    @Test
    void capturingBetweenHostsIsRefused() {
        try (LocalRanks ranks = LocalRanks.start(
                2, rank -> onHost(rank, 1, EmulatedGpus.config()).build())) {
            EmulatedGpus.requireNoCapture(ranks, "operations between hosts cannot be captured");
        }
    }

    @Test
    void abortEndsAKernelThatWaitsForAnotherHost() {
        try (LocalRanks ranks = LocalRanks.start(
                        2, rank -> onHost(rank, 1, EmulatedGpus.config()).build());
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
    void aLateRankOnAnotherHostIsNamed() {
        try (LocalRanks ranks = LocalRanks.start(
                3, rank -> onHost(rank, 1, EmulatedGpus.config()).build())) {
            ranks.run(comm -> {
                if (comm.rank() == 2) {
                    return;
                }
                try (DeviceMemory memory = new DeviceMemory(0, 4096)) {
                    Work work = comm.within(Duration.ofSeconds(2))
                            .allReduce(memory.elements(1024, DataType.FLOAT32), ReduceOp.SUM);
                    CommunicationTimeoutException late =
                            catchThrowableOfType(CommunicationTimeoutException.class, work::await);
                    assertThat(late.missingRanks()).containsExactly(2);
                    assertThat(late).hasMessageContaining("rank=2 never entered sequence=1 (device)");
                }
            });
        }
    }

    @Test
    void aKilledProcessOnAnotherHostIsNamed() throws Exception {
        try (ProcessRanks ranks =
                ProcessRanks.start(folder, 2, "device-work", EmulatedGpus.library(), "off", "host0", "host1")) {
            for (int rank = 0; rank < 2; rank++) {
                ranks.awaitOutput(rank, text -> text.contains("READY"), LIMIT);
            }
            ranks.kill(1);
            ranks.awaitOutput(0, text -> text.contains("CLOSED"), LIMIT);
            assertThat(ranks.output(0)).contains(PeerFailedException.class.getSimpleName() + "[1]");
        }
    }
}
