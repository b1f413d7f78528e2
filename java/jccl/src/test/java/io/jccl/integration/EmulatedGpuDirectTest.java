package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.TransportKind;
import io.jccl.topology.DescribedHosts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * GPUDirect RDMA between simulated hosts. GPUs are emulated; adapters are Soft-RoCE devices, as in
 * {@code scripts/rdma-vm}. The topology file places adapters near GPUs.
 */
@Timeout(value = 900, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EmulatedGpuDirectTest {

    @TempDir
    Path folder;

    @BeforeAll
    static void emulate() {
        EmulatedGpus.use();
        assumeTrue(Files.isDirectory(Path.of("/sys/class/infiniband/rxe0")), "this host has no Soft-RoCE device rxe0");
    }

    private String topology() throws IOException {
        String text = DescribedHosts.text("gpu4-nvswitch")
                .replaceAll(" rank=\"\\d\"", "")
                .replace("\"ib0\"", "\"rxe0\"")
                .replace("\"ib1\"", "\"rxe1\"");
        return Files.writeString(folder.resolve("host.xml"), text).toString();
    }

    private void compare(int size, String algorithm, String level, int direct) throws IOException {
        String topology = topology();
        try (InitLog log = new InitLog()) {
            DeviceCollectives.compare(size, 1, algorithm, "simple", (rank, config) -> config.hostId("host" + rank)
                    .transport(TransportKind.IB)
                    .setting("JCCL_TOPO_FILE", topology)
                    .setting("JCCL_NET_GDR_LEVEL", level));
            assertThat(log.lines())
                    .filteredOn(line -> line.contains("by ib (SIMPLE by GPUDirect RDMA), "))
                    .hasSize(direct);
        }
    }

    @Test
    void everyCollectiveOverARingGivesTheSameBitsAsInHostMemory() throws Exception {
        compare(2, "ring", "PXB", 2);
    }

    @Test
    void everyCollectiveOverTreesGivesTheSameBitsAsInHostMemory() throws Exception {
        compare(3, "tree", "PXB", 3);
    }

    @Test
    void dataGoesThroughTheHostIfTheLevelForbidsGpuDirect() throws Exception {
        compare(2, "ring", "LOC", 0);
    }
}
