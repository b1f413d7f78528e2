package io.jccl.device;

import java.util.List;
import java.util.Optional;

/**
 * The GPUs that this process can use through CUDA. {@link GpuInventory} describes all GPUs of the host and their links;
 * this inventory tells which of them work in this process, and under which number.
 *
 * @param devices the GPUs by ordinal; empty if CUDA cannot be used
 * @param remarks what is missing or failed, each with its remedy
 */
public record CudaInventory(List<CudaDevice> devices, List<String> remarks) {

    public CudaInventory {
        devices = List.copyOf(devices);
        remarks = List.copyOf(remarks);
    }

    /** Asks the driver. Never throws, allocates nothing on a device and makes no context. Any thread may call this. */
    public static CudaInventory ask() {
        Optional<String> missing = JCudaLibrary.missing();
        if (missing.isPresent()) {
            return new CudaInventory(List.of(), List.of(missing.get()));
        }
        return JCudaDevices.read(); // a direct call: naming that class in a lambda would load JCuda's classes
    }
}
