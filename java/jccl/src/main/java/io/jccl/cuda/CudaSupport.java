package io.jccl.cuda;

import io.jccl.device.CudaInventory;
import io.jccl.nativelib.CudaLoader;
import java.util.ArrayList;
import java.util.List;

/** Tells whether ranks of this process can use GPUs. Works without any part of CUDA. */
public final class CudaSupport {

    private CudaSupport() {}

    /**
     * Returns what is missing, each with its remedy; empty if nothing is missing. Never throws. Safe for use by any
     * thread.
     */
    public static List<String> missing() {
        List<String> missing = new ArrayList<>(CudaInventory.ask().remarks());
        if (!CudaLoader.isPresent()) {
            missing.add(CudaLoader.absence());
        }
        return missing;
    }
}
