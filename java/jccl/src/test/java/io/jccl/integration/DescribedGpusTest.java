package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.topology.DescribedHosts;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Ranks that simulate the GPUs of a topology file. Plan and algorithms are those of GPUs; buffers are in host memory.
 */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DescribedGpusTest {

    @TempDir
    Path folder;

    @Test
    void channelsAndChoicesOfGpusGiveTheExactResult() throws Exception {
        Path file = Files.writeString(folder.resolve("gpus.xml"), DescribedHosts.text("gpu4-nvswitch"));
        try (InitLog log = new InitLog();
                LocalRanks ranks = LocalRanks.start(
                        4,
                        LocalRanks.config()
                                .setting("JCCL_TOPO_FILE", file.toString())
                                .setting("JCCL_MAX_NCHANNELS", "2")
                                .build())) {
            // Ranks without GPUs would get one channel on one host. Two channels prove a plan for the described GPUs.
            assertThat(log.lines())
                    .filteredOn(line -> line.contains("hosts=1 channels=2 ready"))
                    .hasSize(4);
            checkSample(ranks);
        }
    }

    @Test
    void gpusOfTwoHostsLogWhichNetworkDeviceEachUses() throws Exception {
        String host = DescribedHosts.text("/io/jccl/search/two-sockets");
        Path first = Files.writeString(folder.resolve("first.xml"), host);
        for (int rank = 3; rank >= 0; rank--) {
            host = host.replace("rank=\"" + rank + "\"", "rank=\"" + (rank + 4) + "\"");
        }
        Path second = Files.writeString(folder.resolve("second.xml"), host);
        try (InitLog log = new InitLog();
                LocalRanks ranks = LocalRanks.start(8, rank -> LocalRanks.config()
                        .setting("JCCL_HOST_ID", rank < 4 ? "first" : "second")
                        .setting("JCCL_TOPO_FILE", (rank < 4 ? first : second).toString())
                        .setting("JCCL_MAX_NCHANNELS", "2")
                        .build())) {
            assertThat(log.lines())
                    .filteredOn(line -> line.contains("hosts=2 channels=2 ready"))
                    .hasSize(8);
            assertThat(log.lines())
                    .filteredOn(line -> line.contains(" network: "))
                    .hasSize(2)
                    .anySatisfy(line -> assertThat(line)
                            .startsWith("host=0 of ranks=[0, 1, 2, 3] network: GPU/")
                            .contains("NET/0 (mlx0) PHB channels"))
                    .anySatisfy(line -> assertThat(line)
                            .startsWith("host=1 of ranks=[4, 5, 6, 7] network: GPU/")
                            .contains("NET/0 (mlx0) PHB channels"));
            checkSample(ranks);
        }
    }

    private static void checkSample(LocalRanks ranks) {
        ranks.run(comm -> {
            try (Arena arena = new Arena(CollectiveCase.arenaBytes(comm.size()))) {
                for (CollectiveCase one : CollectiveCase.sample(4, comm.size(), 40, true)) {
                    one.check(comm, arena);
                }
            }
        });
    }
}
