package io.jccl.cuda;

import io.jccl.DeviceException;
import io.jccl.nativelib.CudaLoader;
import java.util.List;

/** Tells whether ranks of this process can use GPUs. Works without any part of CUDA. */
public final class CudaSupport {

    private CudaSupport() {}

    /**
     * Returns what is missing, each with its remedy; empty if nothing is missing. Asks NVIDIA's driver, and does not need
     * JCuda, which only {@link Cuda} uses. Never throws. Safe for use by any thread.
     */
    public static List<String> missing() {
        if (!CudaLoader.isPresent()) {
            return List.of(CudaLoader.absence());
        }
        try {
            CudaLoader.devices();
            return List.of();
        } catch (DeviceException unusable) {
            return List.of(unusable.getMessage());
        }
    }
}
