package io.jccl.verify;

import io.jccl.DeviceException;
import io.jccl.cli.perf.GpuNames;
import io.jccl.nativelib.CudaLoader;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The GPUs that this process can see.
 *
 * @param models the model of each
 * @param driver the driver as ranks use it; if there is no GPU that can be used, the reason for that
 */
record Gpus(List<String> models, String driver) {

    private static final String VISIBLE = "CUDA_VISIBLE_DEVICES";

    static Gpus ofThisProcess() {
        try {
            List<String> models = GpuNames.of(IntStream.range(0, CudaLoader.devices()));
            return new Gpus(models, models.isEmpty() ? "" : CudaLoader.driver());
        } catch (DeviceException e) {
            return new Gpus(List.of(), e.getMessage());
        }
    }

    /** Returns the environment in which a process sees only the first {@code used} of these GPUs. */
    Map<String, String> visible(int used) {
        if (used == models.size()) {
            return Map.of();
        }
        String all = System.getenv()
                .getOrDefault(
                        VISIBLE,
                        IntStream.range(0, models.size())
                                .mapToObj(Integer::toString)
                                .collect(Collectors.joining(",")));
        return Map.of(VISIBLE, Stream.of(all.split(",")).limit(used).collect(Collectors.joining(",")));
    }
}
