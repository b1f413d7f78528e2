package io.jccl.cli.doctor;

import io.jccl.DeviceException;
import io.jccl.cuda.CudaSupport;
import io.jccl.nativelib.CudaLoader;
import io.jccl.nativelib.DeviceKernels;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Loads the kernels on each GPU of this host, so that an older driver compiles them into its cache. */
final class KernelChecks {

    private static final String NAME = "kernels";

    private KernelChecks() {}

    static List<Finding> prepare() {
        List<String> missing = CudaSupport.missing();
        if (!missing.isEmpty()) {
            return List.of(Finding.fail(NAME, "no GPU can be used here", String.join("; ", missing)));
        }
        List<Finding> findings = new ArrayList<>();
        try {
            int devices = CudaLoader.devices();
            for (int device = 0; device < devices; device++) {
                findings.add(prepared(device, DeviceKernels.prepare(device), DeviceKernels.cache()));
            }
        } catch (DeviceException e) {
            findings.add(Finding.fail(
                    NAME, e.getMessage(), "use a driver that loads the kernels of this build; see docs/versions.md"));
        }
        return findings;
    }

    /**
     * Returns the finding for a device.
     *
     * @param time how long the driver took to compile the kernels; empty if it compiles nothing
     * @param cache where the driver keeps them; empty if nowhere
     */
    static Finding prepared(int device, Optional<Duration> time, Optional<String> cache) {
        String where = "device " + device + ": ";
        if (time.isEmpty()) {
            return Finding.ok(NAME, where + "the driver loads compiled kernels, and nothing is to be prepared");
        }
        String took =
                where + "the driver has loaded the kernels from PTX in " + DeviceKernels.seconds(time.get()) + " s";
        return cache.map(path -> Finding.ok(NAME, took + ", and keeps them in " + path))
                .orElseGet(() -> Finding.warn(
                        NAME, took + ", and keeps nothing: every process compiles them", "unset CUDA_CACHE_DISABLE"));
    }
}
