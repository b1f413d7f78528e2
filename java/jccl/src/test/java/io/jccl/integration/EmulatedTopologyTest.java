package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.CommunicatorConfig;
import io.jccl.topology.DescribedHosts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.function.IntUnaryOperator;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Rings and trees over GPUs that are in the topology. The GPUs are emulated. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EmulatedTopologyTest {

    @TempDir
    Path folder;

    @BeforeAll
    static void emulate() {
        EmulatedGpus.use();
    }

    /**
     * Writes a topology file and returns its path. The file has the emulator's GPUs, at 0000:11:00.0 and 0000:12:00.0,
     * and two GPUs that no rank uses.
     */
    private String host() throws IOException {
        String text = DescribedHosts.text("gpu4-nvswitch").replaceAll(" rank=\"\\d\"", "");
        return Files.writeString(folder.resolve("host.xml"), text).toString();
    }

    /**
     * Requires that all ranks log a plan over their GPUs, and that an all-reduce with it is correct.
     *
     * @param hosts number of hosts, each with the same number of ranks
     * @param deviceOf returns the device of a rank
     * @param plan regular expression of the logged plan
     */
    private void requirePlan(int size, int hosts, IntUnaryOperator deviceOf, String plan) throws IOException {
        CommunicatorConfig config =
                EmulatedGpus.config().setting("JCCL_TOPO_FILE", host()).build();
        try (InitLog log = new InitLog();
                LocalRanks ranks = LocalRanks.start(size, rank -> {
                    CommunicatorConfig.Builder own = config.toBuilder().device(deviceOf.applyAsInt(rank));
                    return (hosts == 1 ? own : own.hostId("host" + rank / (size / hosts))).build();
                })) {
            assertThat(log.lines())
                    .filteredOn(line -> line.matches("rank=\\d GPUs: " + plan))
                    .hasSize(size);
            ranks.run(comm -> EmulatedGpus.sumUp(comm, deviceOf.applyAsInt(comm.rank())));
        }
    }

    @Test
    void channelsConnectTheGpusOfTheRanks() throws Exception {
        requirePlan(2, 1, rank -> rank, "hosts=1 channels=\\d+ ring=.*");
    }

    @Test
    void channelsConnectTheGpusOfTwoHosts() throws Exception {
        requirePlan(4, 2, rank -> rank % 2, "hosts=2 channels=\\d+ ring=.*");
    }

    @Test
    void ranksThatShareAGpuAreNeighboursInThePlan() throws Exception {
        requirePlan(
                4,
                1,
                rank -> rank % 2,
                "hosts=1 channels=\\d+ ring=\\[0, 2, (1, 3|3, 1)\\] ranks on one GPU=\\[\\[0, 2\\], \\[1, 3\\]\\]");
    }

    @Test
    void ranksThatAllShareOneGpuHaveAPlan() throws Exception {
        requirePlan(3, 1, rank -> 0, "hosts=1 channels=\\d+ ring=\\[0, 1, 2\\] ranks on one GPU=.*");
    }

    /** Each host has two ranks on its first GPU and one on its second. */
    @Test
    void ranksThatShareGpusUnevenlyHaveAPlan() throws Exception {
        requirePlan(
                6,
                2,
                rank -> rank % 3 / 2,
                "hosts=2 channels=\\d+ ring=.* ranks on one GPU=\\[\\[0, 1\\], \\[3, 4\\]\\]");
    }
}
