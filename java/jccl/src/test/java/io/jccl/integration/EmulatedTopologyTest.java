package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.CommunicatorConfig;
import io.jccl.DataType;
import io.jccl.ReduceOp;
import io.jccl.Work;
import io.jccl.topology.Machines;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Ranks whose GPUs are in the topology: rings and trees lead over them. The GPUs are played by the emulator. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EmulatedTopologyTest {

    @TempDir
    Path folder;

    @BeforeAll
    static void emulate() {
        EmulatedGpus.use();
    }

    /** A machine with the emulator's GPUs at 0000:11:00.0 and 0000:12:00.0, and two more that nobody has. */
    private String machine() throws IOException {
        String text = Machines.text("gpu4-nvswitch").replaceAll(" rank=\"\\d\"", "");
        return Files.writeString(folder.resolve("machine.xml"), text).toString();
    }

    private static void sumUp(LocalRanks ranks, int devices) {
        ranks.run(comm -> {
            int count = 100_000;
            try (DeviceMemory memory = new DeviceMemory(comm.rank() % devices, 8 * count)) {
                memory.putLongs(LongStream.range(0, count));
                Work work = comm.on(memory.stream()).allReduce(memory.elements(count, DataType.INT64), ReduceOp.SUM);
                assertThat(memory.longs(count))
                        .isEqualTo(LongStream.range(0, count)
                                .map(i -> ranks.size() * i)
                                .toArray());
                work.await();
            }
        });
    }

    @Test
    void channelsLeadOverTheGpusOfTheRanks() throws Exception {
        String file = machine();
        CommunicatorConfig config =
                EmulatedGpus.config().setting("JCCL_TOPO_FILE", file).build();
        try (FormationLog log = new FormationLog();
                LocalRanks ranks = LocalRanks.start(
                        2, rank -> config.toBuilder().device(rank).build())) {
            assertThat(log.lines())
                    .filteredOn(line -> line.matches("rank=\\d GPUs: machines=1 channels=\\d+ ring=.*"))
                    .hasSize(2);
            sumUp(ranks, 2);
        }
    }

    @Test
    void channelsLeadOverMachinesOfGpus() throws Exception {
        String file = machine();
        CommunicatorConfig config =
                EmulatedGpus.config().setting("JCCL_TOPO_FILE", file).build();
        try (FormationLog log = new FormationLog();
                LocalRanks ranks = LocalRanks.start(4, rank -> config.toBuilder()
                        .device(rank % 2)
                        .hostId("machine" + rank / 2)
                        .build())) {
            assertThat(log.lines())
                    .filteredOn(line -> line.matches("rank=\\d GPUs: machines=2 channels=\\d+ ring=.*"))
                    .hasSize(4);
            sumUp(ranks, 2);
        }
    }

    @Test
    void ranksThatShareGpusFollowOneAnotherInTheirPlan() throws Exception {
        String file = machine();
        CommunicatorConfig config =
                EmulatedGpus.config().setting("JCCL_TOPO_FILE", file).build();
        try (FormationLog log = new FormationLog();
                LocalRanks ranks = LocalRanks.start(
                        4, rank -> config.toBuilder().device(rank % 2).build())) {
            assertThat(log.lines())
                    .filteredOn(
                            line -> line.matches("rank=\\d GPUs: machines=1 channels=\\d+ ring=\\[0, 2, (1, 3|3, 1)\\]"
                                    + " ranks on one GPU=\\[\\[0, 2\\], \\[1, 3\\]\\]"))
                    .hasSize(4);
            sumUp(ranks, 2);
        }
    }

    @Test
    void ranksThatAllShareOneGpuHaveAPlanOverIt() throws Exception {
        String file = machine();
        CommunicatorConfig config =
                EmulatedGpus.config().setting("JCCL_TOPO_FILE", file).build();
        try (FormationLog log = new FormationLog();
                LocalRanks ranks = LocalRanks.start(3, config)) {
            assertThat(log.lines())
                    .filteredOn(line -> line.matches(
                            "rank=\\d GPUs: machines=1 channels=\\d+ ring=\\[0, 1, 2\\] ranks on one GPU=.*"))
                    .hasSize(3);
            sumUp(ranks, 1);
        }
    }

    /** Each machine has two ranks on its first GPU and one on its second. */
    @Test
    void machinesShareGpusUnevenly() throws Exception {
        String file = machine();
        CommunicatorConfig config =
                EmulatedGpus.config().setting("JCCL_TOPO_FILE", file).build();
        try (FormationLog log = new FormationLog();
                LocalRanks ranks = LocalRanks.start(6, rank -> config.toBuilder()
                        .device(rank % 3 / 2)
                        .hostId("machine" + rank / 3)
                        .build())) {
            assertThat(log.lines())
                    .filteredOn(line -> line.matches("rank=\\d GPUs: machines=2 channels=\\d+ ring=.*"
                            + " ranks on one GPU=\\[\\[0, 1\\], \\[3, 4\\]\\]"))
                    .hasSize(6);
            ranks.run(comm -> {
                int count = 10_000;
                try (DeviceMemory memory = new DeviceMemory(comm.rank() % 3 / 2, 8 * count)) {
                    memory.putLongs(LongStream.range(0, count));
                    Work work =
                            comm.on(memory.stream()).allReduce(memory.elements(count, DataType.INT64), ReduceOp.SUM);
                    work.await();
                    assertThat(memory.longs(count))
                            .isEqualTo(
                                    LongStream.range(0, count).map(i -> 6 * i).toArray());
                }
            });
        }
    }
}
