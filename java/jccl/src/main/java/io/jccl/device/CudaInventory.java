package io.jccl.device;

import java.util.List;
import java.util.Optional;

/**
 * What CUDA lets this process use. {@link GpuInventory} says which GPUs the host has and how they are linked; this says
 * which of them work here, and under which number.
 *
 * @param devices by ordinal; empty where CUDA cannot be used
 * @param remarks what is missing or failed, each with its remedy
 */
public record CudaInventory(List<CudaDevice> devices, List<String> remarks) {

    /** Takes copies. */
    public CudaInventory {
        devices = List.copyOf(devices);
        remarks = List.copyOf(remarks);
    }

    /** Asks the driver. Never fails, allocates nothing on a device and makes no context; safe for use by any thread. */
    public static CudaInventory ask() {
        Optional<String> missing = JCudaLibrary.missing();
        if (missing.isPresent()) {
            return new CudaInventory(List.of(), List.of(missing.get()));
        }
        return JCudaDevices.read(); // a plain call: to name that class in a lambda would already load JCuda's
    }
}
