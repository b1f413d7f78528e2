package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.topology.Machines;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Ranks that act the GPUs of a description: the plan and the choices are those of GPUs, the memory is the host's. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DescribedGpusTest {

    @TempDir
    Path folder;

    @Test
    void channels_and_choices_of_gpus_give_the_exact_result() throws Exception {
        Path file = Files.writeString(folder.resolve("gpus.xml"), Machines.text("gpu4-nvswitch"));
        try (FormationLog log = new FormationLog();
                LocalRanks ranks = LocalRanks.start(
                        4,
                        LocalRanks.config()
                                .setting("JCCL_TOPO_FILE", file.toString())
                                .setting("JCCL_MAX_NCHANNELS", "2")
                                .build())) {
            // Host ranks of one machine get one channel: two are those of the description's GPUs.
            assertThat(log.lines())
                    .filteredOn(line -> line.contains("machines=1 channels=2 ready"))
                    .hasSize(4);
            checkSample(ranks);
        }
    }

    @Test
    void gpus_of_two_machines_say_which_network_device_each_uses() throws Exception {
        String machine = Machines.text("/io/jccl/search/two-sockets");
        Path first = Files.writeString(folder.resolve("first.xml"), machine);
        for (int rank = 3; rank >= 0; rank--) {
            machine = machine.replace("rank=\"" + rank + "\"", "rank=\"" + (rank + 4) + "\"");
        }
        Path second = Files.writeString(folder.resolve("second.xml"), machine);
        try (FormationLog log = new FormationLog();
                LocalRanks ranks = LocalRanks.start(8, rank -> LocalRanks.config()
                        .setting("JCCL_HOST_ID", rank < 4 ? "first" : "second")
                        .setting("JCCL_TOPO_FILE", (rank < 4 ? first : second).toString())
                        .setting("JCCL_MAX_NCHANNELS", "2")
                        .build())) {
            assertThat(log.lines())
                    .filteredOn(line -> line.contains("machines=2 channels=2 ready"))
                    .hasSize(8);
            assertThat(log.lines())
                    .filteredOn(line -> line.contains(" network: "))
                    .hasSize(2)
                    .anySatisfy(line -> assertThat(line)
                            .startsWith("machine=0 of ranks=[0, 1, 2, 3] network: GPU/")
                            .contains("NET/0 (mlx0) PHB channels"))
                    .anySatisfy(line -> assertThat(line)
                            .startsWith("machine=1 of ranks=[4, 5, 6, 7] network: GPU/")
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
