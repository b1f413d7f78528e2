package io.jccl.cli.perf;

import io.jccl.device.CudaDevice;
import io.jccl.device.CudaInventory;
import io.jccl.nativelib.DeviceEngine;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Names the GPUs of this host in reports. */
public final class GpuNames {

    private GpuNames() {}

    /** Returns the model of each device, or its compute capability if JCuda, which knows the models, cannot be used. */
    public static List<String> of(IntStream ordinals) {
        List<CudaDevice> known = CudaInventory.ask().devices();
        return ordinals.mapToObj(device -> known.stream()
                        .filter(one -> one.ordinal() == device)
                        .map(CudaDevice::name)
                        .findFirst()
                        .orElseGet(() -> "compute capability "
                                + DeviceEngine.describe(device).capability() / 10.0))
                .toList();
    }

    /** Returns how often each name occurs, for example {@code 2 x NVIDIA H200}. */
    public static String counted(List<String> names) {
        Map<String, Long> counts = names.stream()
                .collect(Collectors.groupingBy(Function.identity(), LinkedHashMap::new, Collectors.counting()));
        return counts.entrySet().stream()
                .map(entry -> entry.getValue() + " x " + entry.getKey())
                .collect(Collectors.joining(", "));
    }
}
