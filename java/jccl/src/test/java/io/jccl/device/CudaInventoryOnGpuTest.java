package io.jccl.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.nativelib.NativeNvml;
import io.jccl.testing.RequiresGpu;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Compares the GPUs that CUDA reports with those of NVML and nvidia-smi. */
@RequiresGpu
@Timeout(60)
class CudaInventoryOnGpuTest {

    private static final long MEBIBYTE = 1L << 20;

    @Test
    void everyCudaDeviceEqualsNvmlsGpuOfTheSameBusId() {
        NativeNvml.Answer answer = NativeNvml.ask("libnvidia-ml.so.1");
        assumeTrue(answer.numbers() != null, () -> "nvml reports nothing: " + answer.remarks());
        Map<String, GpuInventory.Gpu> managed =
                GpuInventory.decode("nvml", answer.numbers(), answer.remarks()).gpus().stream()
                        .collect(Collectors.toMap(GpuInventory.Gpu::busId, Function.identity()));
        for (CudaDevice device : CudaInventory.ask().devices()) {
            assertThat(managed).as("%s", device).containsKey(device.busId());
            assertThat(managed.get(device.busId()).sm()).as("%s", device).isEqualTo(device.sm());
        }
    }

    @Test
    void nameMemoryAndIdentityEqualThoseOfNvidiaSmi() throws Exception {
        List<String> rows = nvidiaSmi();
        for (CudaDevice device : CudaInventory.ask().devices()) {
            String row = rows.stream()
                    .filter(text -> text.startsWith(device.uuid() + ", "))
                    .findFirst()
                    .orElseThrow(() -> new AssertionError(device + " is not in " + rows));
            String[] columns = row.split(", ");
            assertThat(columns[1]).isEqualTo(device.name());
            assertThat(columns[2].toLowerCase(java.util.Locale.ROOT)).endsWith(device.busId());
            // CUDA does not count the memory that the driver reserves for itself.
            long mebibytes = Long.parseLong(columns[3]);
            assertThat(device.memoryBytes() / MEBIBYTE).isBetween(mebibytes * 9 / 10, mebibytes);
        }
    }

    private static List<String> nvidiaSmi() throws InterruptedException {
        Process process;
        try {
            process = new ProcessBuilder(
                            "nvidia-smi",
                            "--query-gpu=uuid,name,pci.bus_id,memory.total",
                            "--format=csv,noheader,nounits")
                    .redirectErrorStream(true)
                    .start();
        } catch (IOException e) {
            assumeTrue(false, "nvidia-smi cannot be started: " + e.getMessage());
            return List.of();
        }
        try {
            String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).as(text).isZero();
            return text.lines().toList();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        } finally {
            process.destroyForcibly();
        }
    }
}
