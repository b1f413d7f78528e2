package io.jccl.cli.perf;

import io.jccl.device.CudaDevice;
import io.jccl.device.CudaInventory;
import io.jccl.nativelib.DeviceEngine;
import java.util.List;
import java.util.stream.IntStream;

/** What reports call the GPUs of this host. */
public final class GpuNames {

    private GpuNames() {}

    /** The model of each device; its compute capability where JCuda, which knows models, cannot be used. */
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
}
