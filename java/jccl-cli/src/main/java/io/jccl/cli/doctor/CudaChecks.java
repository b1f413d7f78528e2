package io.jccl.cli.doctor;

import io.jccl.DeviceException;
import io.jccl.cuda.CudaSupport;
import io.jccl.device.CudaDevice;
import io.jccl.device.CudaInventory;
import io.jccl.device.JCudaLibrary;
import io.jccl.nativelib.CudaLoader;
import io.jccl.nativelib.NativeLoader;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Checks the parts that ranks on GPUs need, NVIDIA's driver and the GPU backend's library, and reports JCuda, which
 * applications may use.
 */
final class CudaChecks {

    private static final String NAME = "cuda";

    private CudaChecks() {}

    static List<Finding> parts(Host host) {
        boolean library = CudaLoader.isPresent();
        return hasDriver(host)
                ? parts(host, JCudaLibrary.state(), library, CudaInventory.ask(), backend())
                : List.of(Finding.ok(
                        NAME,
                        seen(host, JCudaLibrary.state(), library)
                                + ": no GPU can be used; the host backend needs none"));
    }

    /**
     * The state of the GPU backend.
     *
     * @param missing what ranks on GPUs lack, each with its remedy
     * @param driver the driver as ranks use it; empty if something is missing
     */
    record Backend(List<String> missing, String driver) {}

    private static Backend backend() {
        List<String> missing = CudaSupport.missing();
        if (!missing.isEmpty()) {
            return new Backend(missing, "");
        }
        try {
            return new Backend(missing, "; " + CudaLoader.driver());
        } catch (DeviceException e) {
            return new Backend(List.of(e.getMessage()), "");
        }
    }

    /** Returns the findings for a host that has a driver. */
    static List<Finding> parts(
            Host host, JCudaLibrary.State jcuda, boolean library, CudaInventory inventory, Backend backend) {
        List<String> missing = backend.missing();
        String seen = seen(host, jcuda, library)
                + backend.driver()
                + inventory.devices().stream().map(CudaChecks::describe).collect(Collectors.joining());
        return List.of(
                missing.isEmpty()
                        ? Finding.ok(NAME, seen)
                        : Finding.warn(NAME, seen + ": ranks use host memory", String.join("; ", missing)));
    }

    private static String describe(CudaDevice device) {
        return "; device " + device.ordinal() + ": " + device.name() + " sm " + device.sm() + ", "
                + (device.memoryBytes() >> 30) + " GiB, at " + device.busId() + ", " + device.uuid();
    }

    private static boolean hasDriver(Host host) {
        return host.library("libcuda.so.1").isPresent() || version(host).isPresent();
    }

    private static String seen(Host host, JCudaLibrary.State jcuda, boolean library) {
        return "driver=" + host.library("libcuda.so.1").orElse("missing")
                + version(host).map(text -> " (" + text + ")").orElse("")
                + " nvml=" + host.library("libnvidia-ml.so.1").orElse("missing")
                + " jcuda="
                + switch (jcuda) {
                    case READY, NO_DRIVER -> "present";
                    case NO_JAR -> "missing";
                    case NO_NATIVES -> "natives missing";
                }
                + " " + NativeLoader.CUDA_LIBRARY + "=" + (library ? "present" : "missing");
    }

    private static Optional<String> version(Host host) {
        return host.read("/proc/driver/nvidia/version")
                .flatMap(text -> text.lines().findFirst());
    }
}
