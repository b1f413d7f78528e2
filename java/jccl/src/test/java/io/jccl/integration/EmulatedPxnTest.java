package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.CommunicatorConfig;
import io.jccl.TransportKind;
import io.jccl.UniqueId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * PXN between two simulated hosts of two ranks each. The first rank's GPU is far from the only adapter, so it sends
 * through the second rank's GPU. GPUs are emulated; the adapter is a Soft-RoCE device, as in {@code scripts/rdma-vm}.
 */
@Timeout(value = 900, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EmulatedPxnTest {

    private static final Duration LIMIT = Duration.ofSeconds(600);
    private static final String THROUGH = "lead through the GPU of rank=";
    private static final String FORWARDED = "PXN: forwarded bytes=";

    @TempDir
    Path folder;

    @BeforeAll
    static void emulate() {
        EmulatedGpus.use();
        assumeTrue(Files.isDirectory(Path.of("/sys/class/infiniband/rxe0")), "this host has no Soft-RoCE device rxe0");
    }

    private static CommunicatorConfig.Builder host(CommunicatorConfig.Builder config, int rank, String topology) {
        return config.hostId("host" + rank / 2).setting("JCCL_TOPO_FILE", topology);
    }

    private static List<String> of(InitLog log, String text) {
        return log.lines().stream().filter(line -> line.contains(text)).toList();
    }

    /** Compares collectives of integers, since the plans of host and GPUs add in different orders. */
    private void compare(String algorithm, boolean pxn, UnaryOperator<CommunicatorConfig.Builder> more)
            throws IOException {
        String topology = EmulatedGpus.topologyWithOneAdapter(folder, "rxe0");
        CommunicatorConfig config =
                more.apply(DeviceCollectives.config(algorithm, "simple")).build();
        try (InitLog log = new InitLog("io.jccl")) {
            try (LocalRanks ranks = LocalRanks.start(4, rank -> host(config.toBuilder(), rank, topology)
                    .device(rank % 2)
                    .setting("JCCL_PXN_DISABLE", pxn ? "0" : "1")
                    .build())) {
                ranks.run(comm -> DeviceCollectives.compareAll(comm, comm.rank() % 2, 7, type -> !type.isFloating()));
            }
            assertThat(of(log, THROUGH)).hasSize(pxn ? 2 : 0);
            // A forwarder logs its bytes when it ends, which is after the other ranks of this process have closed.
            long deadline = System.nanoTime() + LIMIT.toNanos();
            while (pxn && of(log, FORWARDED).size() < 2 && System.nanoTime() - deadline < 0) {
                LockSupport.parkNanos(10_000_000);
            }
            assertThat(of(log, FORWARDED)).hasSize(pxn ? 2 : 0).noneMatch(line -> line.endsWith("bytes=0"));
        }
    }

    @Test
    void everyCollectiveOverARingGivesTheSameBitsAsInHostMemory() throws Exception {
        compare("ring", true, config -> config);
    }

    /** Over {@code ib}, ranks of one host also use the adapter for data that they do not exchange over NVLink. */
    @Test
    void everyCollectiveOverTreesGivesTheSameBitsAsInHostMemory() throws Exception {
        compare("tree", true, config -> config.transport(TransportKind.IB));
    }

    @Test
    void dataGoesThroughTheHostIfPxnIsDisabled() throws Exception {
        compare("ring", false, config -> config);
    }

    private ProcessRanks start(String scenario) throws IOException {
        return ProcessRanks.start(
                UniqueId.create(),
                folder,
                4,
                rank -> List.of("env", "JCCL_EMULATED_SHARING=descriptors"),
                scenario,
                EmulatedGpus.library(),
                EmulatedGpus.topologyWithOneAdapter(folder, "rxe0"));
    }

    @Test
    void processesSendThroughTheGpusOfOtherProcesses() throws Exception {
        try (ProcessRanks ranks = start("forwarding")) {
            for (int rank = 0; rank < 4; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.allOutput()).isZero();
                assertThat(ranks.output(rank))
                        .contains("RESULT ok", "LEFT []", rank % 2 == 0 ? THROUGH + (rank + 1) : FORWARDED)
                        .doesNotContain(FORWARDED + "0\n");
            }
        }
    }

    /** The ranks that send through the killed forwarder name it, and so do the ranks that receive from it. */
    @Test
    void aForwarderThatIsKilledIsNamed() throws Exception {
        try (ProcessRanks ranks = start("forwarding-work")) {
            for (int rank = 0; rank < 4; rank++) {
                ranks.awaitOutput(rank, output -> output.contains("READY"), LIMIT);
            }
            ranks.kill(3);
            long begin = System.nanoTime();
            for (int rank = 0; rank < 3; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.allOutput()).isZero();
                assertThat(ranks.output(rank)).contains("FAILED PeerFailedException[3]");
            }
            assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(60));
        }
    }
}
