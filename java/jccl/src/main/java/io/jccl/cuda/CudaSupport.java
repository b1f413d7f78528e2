package io.jccl.cuda;

import io.jccl.device.CudaInventory;
import io.jccl.nativelib.CudaLoader;
import java.util.ArrayList;
import java.util.List;

/** Whether ranks of this process can be on GPUs. Needs no part of CUDA to be asked. */
public final class CudaSupport {

    private CudaSupport() {}

    /** What is missing, each with its remedy; empty where nothing is. Never fails; safe for use by any thread. */
    public static List<String> missing() {
        List<String> missing = new ArrayList<>(CudaInventory.ask().remarks());
        if (!CudaLoader.isPresent()) {
            missing.add(CudaLoader.absence());
        }
        return missing;
    }
}
