package io.jccl.nativelib;

import io.jccl.DeviceException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Loads the library of the GPU backend, once, and only where a rank uses a device: nothing else of JCCL depends on it.
 *
 * <p>{@code -Djccl.cuda.path=FILE} names another library with the same functions than the one of this build.
 */
public final class CudaLoader {

    /** Names the library to load in the place of this build's. */
    static final String PATH_PROPERTY = "jccl.cuda.path";

    private CudaLoader() {}

    /** Whether there is such a library here; loads nothing. */
    public static boolean isPresent() {
        return named().isPresent() || NativeLibraryFinder.ofThisJvm().has(NativeLoader.CUDA_LIBRARY);
    }

    /** What to say where it is not present. */
    public static String absence() {
        return Platform.ofThisJvm().cudaAbsence();
    }

    /** Whether nothing names another library than the one of this build; loads nothing. */
    public static boolean isOfThisBuild() {
        return named().isEmpty();
    }

    /**
     * Makes the native methods usable.
     *
     * @throws DeviceException if the library cannot be loaded; says why
     */
    public static void load() {
        if (Holder.FAILURE != null) {
            throw new DeviceException(Holder.FAILURE.getMessage(), Holder.FAILURE);
        }
    }

    /**
     * How many devices this process can use.
     *
     * @throws DeviceException if the library, the driver or a device is missing
     */
    public static int devices() {
        load();
        int count = NativeDevice.count();
        if (count < 0) {
            throw NativeDevice.failed("the devices of this host cannot be used");
        }
        if (count == 0) {
            throw new DeviceException("devices=0: CUDA sees no GPU; check CUDA_VISIBLE_DEVICES and nvidia-smi");
        }
        return count;
    }

    /**
     * The driver that ranks of this process use: its version, that of the kernels, and what the library does without.
     *
     * @throws DeviceException if the library or the driver cannot be used; says why, with the remedy
     */
    public static String driver() {
        load();
        String driver = NativeDevice.driver();
        if (driver == null) {
            throw NativeDevice.failed("the GPUs of this host cannot be used");
        }
        return driver;
    }

    private static Optional<Path> named() {
        return Optional.ofNullable(System.getProperty(PATH_PROPERTY))
                .filter(path -> !path.isBlank())
                .map(Path::of);
    }

    private static final class Holder {
        static final NativeLoadException FAILURE = attempt();

        private static NativeLoadException attempt() {
            try {
                NativeLibraryFinder.ofThisJvm()
                        .loadBeside(
                                NativeLoader.CUDA_LIBRARY, named(), path -> System.load(path), NativeDevice::buildId);
                return null;
            } catch (NativeLoadException failure) {
                return failure;
            }
        }
    }
}
