package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.UniqueId;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** PXN between two simulated hosts of two ranks each, over a network plug-in for NCCL. */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class NetPluginPxnTest {

    private static final Duration LIMIT = Duration.ofSeconds(90);

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"6,cuda", "12,cuda", "12,dmabuf", "12,none"})
    void gpuDataBypassesTheHostIfThePluginReachesGpus(int version, String way) throws Exception {
        List<String> environment = List.of(
                "env",
                "JCCL_EMULATED_SHARING=descriptors",
                TestPlugins.environment(version),
                way.equals("none") ? "JCCL_IB_DISABLE=1" : "JCCL_TEST_PLUGIN_GPUS=" + way);
        try (ProcessRanks ranks = ProcessRanks.start(
                UniqueId.create(),
                folder,
                4,
                rank -> environment,
                "forwarding",
                EmulatedGpus.library(),
                EmulatedGpus.topologyWithOneAdapter(folder, "test0"))) {
            for (int rank = 0; rank < 4; rank++) {
                assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks::allOutput).isZero();
                assertThat(ranks.output(rank)).contains("RESULT ok", "LEFT []");
            }
            if (way.equals("none")) {
                assertThat(ranks.allOutput())
                        .contains("device=test0 does not reach GPUs")
                        .doesNotContainPattern("PXN: forwarded bytes=[1-9]");
            } else {
                assertThat(ranks.output(0)).contains("lead through the GPU of rank=1");
                assertThat(ranks.output(1))
                        .contains("have their slots in memory of the GPU", "PXN: forwarded bytes=")
                        .doesNotContain("forwarded bytes=0\n");
            }
        }
    }
}
