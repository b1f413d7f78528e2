package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.Algorithm;
import io.jccl.CommunicatorConfig;
import io.jccl.DataType;
import io.jccl.ReduceOp;
import io.jccl.UniqueId;
import io.jccl.Work;
import io.jccl.topology.DescribedHosts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * NVLS from the topology to the kernels: a switch that reduces connects the ranks' GPUs. GPUs and switch are emulated.
 */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EmulatedNvlsTest {

    private static final Duration LIMIT = Duration.ofSeconds(120);
    private static final String USED = "NVLS through the switch between all GPUs";

    private static final String THROUGH_SLOTS = "NVLS copies symmetric memory through its slots";

    @TempDir
    Path folder;

    @BeforeAll
    static void emulate() {
        EmulatedGpus.use();
    }

    /** Writes a topology file and returns its path. A switch connects the emulator's first two GPUs. */
    private String host(String sm) throws IOException {
        String text = DescribedHosts.text("gpu4-nvswitch")
                .replaceAll(" rank=\"\\d\"", "")
                .replace("sm=\"90\"", "sm=\"" + sm + "\"");
        return Files.writeString(folder.resolve("host-" + sm + ".xml"), text).toString();
    }

    private CommunicatorConfig.Builder config() throws IOException {
        return EmulatedGpus.config().setting("JCCL_TOPO_FILE", host("90"));
    }

    private static LocalRanks start(CommunicatorConfig config) {
        return LocalRanks.start(2, rank -> config.toBuilder().device(rank).build());
    }

    @Test
    void switchReducesLargeSumsAndMaximaButNotProducts() throws Exception {
        try (InitLog log = new InitLog("io.jccl.nvls");
                LocalRanks ranks = start(config().setting("JCCL_ALGO", "nvls").build())) {
            assertThat(log.lines()).filteredOn(line -> line.contains(USED)).hasSize(2);
            ranks.run(comm -> {
                int count = 2_000_000;
                try (DeviceMemory memory = new DeviceMemory(comm.rank(), Long.BYTES * count)) {
                    for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.MAX, ReduceOp.PROD)) {
                        memory.putLongs(LongStream.range(0, count).map(i -> i + comm.rank()));
                        Work work = comm.on(memory.stream()).allReduce(memory.elements(count, DataType.INT64), op);
                        assertThat(memory.longs(count))
                                .isEqualTo(LongStream.range(0, count)
                                        .map(i -> op == ReduceOp.SUM
                                                ? 2 * i + 1
                                                : op == ReduceOp.MAX ? i + 1 : i * (i + 1))
                                        .toArray());
                        work.await();
                        boolean switched = work.execution().algorithm() == Algorithm.NVLS;
                        assertThat(switched).as("%s", op).isEqualTo(op != ReduceOp.PROD);
                    }
                }
            });
        }
    }

    /** Without descriptors of memory, no multicast object can contain symmetric memory. */
    @Test
    void symmetricMemoryThatCannotBeBoundGoesThroughSlots() throws Exception {
        try (InitLog log = new InitLog("io.jccl.nvls");
                LocalRanks ranks = start(config().setting("JCCL_ALGO", "nvls").build())) {
            ranks.run(comm -> {
                for (int round = 0; round < 3; round++) {
                    EmulatedGpus.sumUpSymmetric(comm, comm.rank());
                    EmulatedGpus.sendSymmetric(comm, comm.rank());
                }
            });
            assertThat(log.lines())
                    .filteredOn(line -> line.contains(THROUGH_SLOTS) && line.contains("not behind a descriptor"))
                    .hasSize(2 * 2 * 3);
        }
    }

    /**
     * Processes receive the multicast object as a file descriptor. If one process cannot bind it, only rings and trees
     * remain for all ranks.
     */
    @Test
    void processesShareTheMulticastObjectAndLeaveNothing() throws Exception {
        for (int size : new int[] {2, 4}) {
            for (String output : run(size, "descriptors", "descriptors")) {
                assertThat(output).contains(USED).contains("LEFT []").doesNotContain(THROUGH_SLOTS);
            }
        }
        for (String output : run(3, "descriptors", "descriptors,no-bind")) {
            assertThat(output).contains("JCCL_ALGO=nvls: all_reduce has only [ring, tree, direct]");
        }
    }

    private List<String> run(int size, String sharing, String sharingOfLast) throws Exception {
        String text = DescribedHosts.text("gpu4-nvswitch").replaceAll(" rank=\"\\d\"", "");
        // Moves the third and the fourth GPU to the addresses at which the emulator has them.
        text = text.replace("0000:13:00.0", "0000:19:00.0")
                .replace("0000:21:00.0", "0000:13:00.0")
                .replace("0000:23:00.0", "0000:14:00.0");
        String host = Files.writeString(folder.resolve("host4.xml"), text).toString();
        Path outputs = Files.createTempDirectory(folder, "ranks");
        try (ProcessRanks ranks = ProcessRanks.start(
                UniqueId.create(),
                outputs,
                size,
                rank -> List.of(
                        "env",
                        "JCCL_EMULATED_GPUS=4",
                        "JCCL_EMULATED_SHARING=" + (rank == size - 1 ? sharingOfLast : sharing)),
                "nvls",
                EmulatedGpus.library(),
                host)) {
            for (int rank = 0; rank < size; rank++) {
                boolean ended = ranks.awaitExit(rank, LIMIT) == 0;
                assertThat(ended).as(ranks.allOutput()).isEqualTo(sharing.equals(sharingOfLast));
            }
            return IntStream.range(0, size).mapToObj(ranks::output).toList();
        }
    }

    @Test
    void everyCollectiveGivesTheSameBitsAsInHostMemory() throws Exception {
        DeviceCollectives.compare(2, 2, "nvls", "simple", (rank, config) -> {
            try {
                return config.setting("JCCL_TOPO_FILE", host("90"));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    @Test
    void settingForbidsOrRequiresNvls() throws Exception {
        try (InitLog log = new InitLog("io.jccl.nvls");
                LocalRanks ranks =
                        start(config().setting("JCCL_NVLS_ENABLE", "0").build())) {
            assertThat(log.lines()).noneMatch(line -> line.contains(USED));
            ranks.run(comm -> EmulatedGpus.sumUp(comm, comm.rank()));
        }
        CommunicatorConfig older = EmulatedGpus.config()
                .setting("JCCL_TOPO_FILE", host("80"))
                .setting("JCCL_NVLS_ENABLE", "1")
                .build();
        assertThatThrownBy(() -> start(older).close())
                .hasMessageContaining(
                        "JCCL_NVLS_ENABLE=1: the switch between the GPUs does not reduce, it needs one host");
        assertThatThrownBy(() -> start(EmulatedGpus.config()
                                .setting("JCCL_TOPO_FILE", host("80"))
                                .setting("JCCL_ALGO", "nvls")
                                .build())
                        .close())
                .hasMessageContaining("JCCL_ALGO=nvls: all_reduce has only [ring, tree");
    }
}
