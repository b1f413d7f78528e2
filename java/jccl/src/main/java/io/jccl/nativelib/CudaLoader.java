package io.jccl.nativelib;

import io.jccl.DeviceException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Loads the library of the GPU backend, once, and only if a rank uses a device. Nothing else in JCCL depends on this
 * library.
 *
 * <p>{@code -Djccl.cuda.path=FILE} names another library with the same functions, which is loaded in place of this
 * build's.
 */
public final class CudaLoader {

    /** System property with the path of the library to load in place of this build's. */
    static final String PATH_PROPERTY = "jccl.cuda.path";

    private CudaLoader() {}

    /** Returns true if there is a library of the GPU backend here. Loads nothing. */
    public static boolean isPresent() {
        return named().isPresent() || NativeLibraryFinder.ofThisJvm().has(NativeLoader.CUDA_LIBRARY);
    }

    /** Returns the message for the case that the library is not present. */
    public static String absence() {
        return Platform.ofThisJvm().cudaAbsence();
    }

    /** Returns true unless {@code -Djccl.cuda.path} names another library. Loads nothing. */
    public static boolean isOfThisBuild() {
        return named().isEmpty();
    }

    /**
     * Makes the native methods usable.
     *
     * @throws DeviceException if the library cannot be loaded; the message has the reason
     */
    public static void load() {
        if (Holder.FAILURE != null) {
            throw new DeviceException(Holder.FAILURE.getMessage(), Holder.FAILURE);
        }
    }

    /**
     * Returns the number of devices that this process can use.
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
     * Describes the driver that ranks of this process use: its version, the CUDA version of the kernels, and the
     * functions that the driver lacks.
     *
     * @throws DeviceException if the library or the driver cannot be used; the message has the reason and the remedy
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
