package io.jccl.integration;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.nativelib.CudaLoader;
import io.jccl.testing.RequiresGpu;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The same as {@link EmulatedDeviceTest} on the GPUs of this machine: ranks as threads, several to a GPU. */
@RequiresGpu
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DeviceOnGpuTest {

    @BeforeEach
    void onlyWithTheLibraryOfThisBuild() {
        assumeTrue(CudaLoader.isOfThisBuild(), "this process emulates its GPUs");
    }

    @ParameterizedTest
    @CsvSource({
        "1, ring, simple",
        "2, ring, simple",
        "2, ring, ll",
        "2, ring, ll128",
        "3, tree, simple",
        "4, tree, ll",
        "4, ring, ll128",
        "8, ring, simple",
        "8, tree, ll128"
    })
    void everyCollectiveHasTheHostsBits(int size, String algorithm, String protocol) {
        DeviceCollectives.compare(size, 1, algorithm, protocol);
    }

    @ParameterizedTest
    @CsvSource({"2, ring, simple", "4, tree, ll", "4, ring, simple"})
    void everyCollectiveHasTheHostsBitsAcrossGpus(int size, String algorithm, String protocol) {
        int devices = CudaLoader.devices();
        assumeTrue(devices > 1, "devices=" + devices + ": needs two");
        DeviceCollectives.compare(size, devices, algorithm, protocol);
    }

    /** Carried out by the host, as for processes that share a GPU without an MPS server. */
    @ParameterizedTest
    @CsvSource({"1, ring, simple", "3, ring, simple"})
    void everyStagedCollectiveHasTheHostsBits(int size, String algorithm, String protocol) {
        DeviceCollectives.compare(
                size, 1, algorithm, protocol, (rank, config) -> config.setting("JCCL_GPU_STAGED", "on"));
    }
}
