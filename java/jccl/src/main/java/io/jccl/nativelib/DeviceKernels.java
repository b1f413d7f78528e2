package io.jccl.nativelib;

import io.jccl.DeviceException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Loads the kernels of the GPU backend. A driver that is older than the kernels compiles their PTX, which may take
 * minutes. It keeps the result in a cache on disk, so that later processes with the same GPU and driver load it.
 */
public final class DeviceKernels {

    private static final Logger LOG = LoggerFactory.getLogger(DeviceKernels.class);
    private static final Duration LONG = Duration.ofSeconds(1); // loading takes less if the driver compiles nothing
    private static final Map<Integer, Duration> LOADED = new ConcurrentHashMap<>(); // by device

    private DeviceKernels() {}

    /**
     * Loads the kernels of a device.
     *
     * @return how long the driver took to compile them or to read them from its cache; empty if it compiles nothing
     * @throws DeviceException if they cannot be loaded; the message has the reason
     */
    public static Optional<Duration> prepare(int device) {
        CudaLoader.load();
        if (!NativeDevice.compilesKernels()) {
            if (NativeDevice.loadKernels(device) < Code.OK) {
                throw NativeDevice.failed("device=" + device + ": cannot load the kernels");
            }
            return Optional.empty();
        }
        return Optional.of(LOADED.computeIfAbsent(device, DeviceKernels::compile));
    }

    /**
     * Describes where the driver keeps kernels that it has compiled, by the variables of its documentation (CUDA C
     * Programming Guide, CUDA Environment Variables); empty if nowhere.
     */
    public static Optional<String> cache() {
        if ("1".equals(System.getenv("CUDA_CACHE_DISABLE"))) {
            return Optional.empty();
        }
        String path = System.getenv("CUDA_CACHE_PATH");
        return Optional.of(
                path == null || path.isBlank()
                        ? Path.of(System.getProperty("user.home", "~"), ".nv", "ComputeCache")
                                .toString()
                        : path);
    }

    /** Loads the kernels of a device if the driver has to compile them, and logs it. Leaves errors to later calls. */
    static void announceAndLoad(int device) {
        if (!NativeDevice.compilesKernels() || LOADED.containsKey(device)) {
            return;
        }
        LOG.info(
                "device={}: the driver is older than this build's kernels and compiles them, which may take minutes unless"
                        + " its cache has them: cache={}",
                device,
                cache().orElse("none, because CUDA_CACHE_DISABLE=1"));
        try {
            Duration time = prepare(device).orElseThrow();
            if (time.compareTo(LONG) > 0) {
                LOG.warn(
                        "device={}: the driver has compiled the kernels in seconds={}; {}",
                        device,
                        seconds(time),
                        cache().map(path -> "later processes find them in " + path
                                        + "; keep this directory, and fill it by `jccl doctor --prepare-kernels`"
                                        + " before jobs start")
                                .orElse("every process does so, because CUDA_CACHE_DISABLE=1: unset it"));
            }
        } catch (DeviceException e) {
            LOG.debug("device={}: the kernels cannot be loaded", device, e);
        }
    }

    /** Formats a duration in seconds. */
    public static String seconds(Duration time) {
        return String.format(Locale.ROOT, "%.1f", time.toMillis() / 1e3);
    }

    private static Duration compile(int device) {
        long begin = System.nanoTime();
        if (NativeDevice.loadKernels(device) < Code.OK) {
            throw NativeDevice.failed("device=" + device + ": cannot load the kernels");
        }
        return Duration.ofNanos(System.nanoTime() - begin);
    }
}
