package io.jccl.nativelib;

import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Loads the native library, once for each class loader. Public methods of classes with native methods call
 * {@link #load()} before their first native call. They do not rely on a static initializer, whose failure would be an
 * error of the JVM without the reason.
 */
public final class NativeLoader {

    /** File name of the GPU backend's library, which exists only in builds with that backend. */
    public static final String CUDA_LIBRARY = "libjccl_cuda.so";

    private NativeLoader() {}

    /**
     * Makes the native methods usable.
     *
     * @throws NativeLoadException if the library cannot be loaded; then every later call throws it again
     */
    public static void load() {
        if (Holder.FAILURE != null) {
            throw new NativeLoadException(Holder.FAILURE.getMessage(), Holder.FAILURE);
        }
        LogThread.serve();
    }

    /**
     * Returns the id of the build of the library, which is also that of these classes.
     *
     * @throws NativeLoadException if the library cannot be loaded
     */
    public static String buildId() {
        load();
        return NativeLibrary.buildId();
    }

    /** Returns the platforms for which the jar contains a library, each with the id of its build. Loads nothing. */
    public static SortedMap<String, String> embeddedBuilds() {
        SortedMap<String, String> builds = new TreeMap<>();
        for (Platform platform : Platform.RELEASED) {
            new NativeLibraryFinder(platform, Optional.empty(), List.of(), NativeLoader.class.getClassLoader())
                    .embeddedBuildId()
                    .ifPresent(id -> builds.put(platform.directory(), id));
        }
        return builds;
    }

    private static final class Holder {
        static final NativeLoadException FAILURE = attempt();

        private static NativeLoadException attempt() {
            try {
                NativeLibraryFinder.ofThisJvm().load(path -> System.load(path), NativeLibrary::buildId);
                return null;
            } catch (NativeLoadException failure) {
                return failure;
            }
        }
    }
}
