package io.jccl.integration;

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
        try (LocalRanks ranks = LocalRanks.start(
                4,
                LocalRanks.config()
                        .setting("JCCL_TOPO_FILE", file.toString())
                        .setting("JCCL_MAX_NCHANNELS", "2")
                        .build())) {
            ranks.run(comm -> {
                try (Arena arena = new Arena(CollectiveCase.arenaBytes(4))) {
                    for (CollectiveCase one : CollectiveCase.sample(4, 4, 40, true)) {
                        one.check(comm, arena);
                    }
                }
            });
        }
    }
}
