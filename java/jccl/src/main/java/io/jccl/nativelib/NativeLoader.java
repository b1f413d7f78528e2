package io.jccl.nativelib;

import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Loads the native library, once for the class loader. What other packages call of a class with native methods calls
 * {@link #load()} first, outside of static initializers: their failures are errors of the JVM, without the reason.
 */
public final class NativeLoader {

    /** The library of the GPU backend, which is there only where it was built. */
    public static final String CUDA_LIBRARY = "libjccl_cuda.so";

    private NativeLoader() {}

    /**
     * Makes the native methods usable.
     *
     * @throws NativeLoadException if the library cannot be loaded; the same one again at every later call
     */
    public static void load() {
        if (Holder.FAILURE != null) {
            throw new NativeLoadException(Holder.FAILURE.getMessage(), Holder.FAILURE);
        }
        LogThread.serve();
    }

    /**
     * The build of the library and of these classes, which are the same.
     *
     * @throws NativeLoadException if the library cannot be loaded
     */
    public static String buildId() {
        load();
        return NativeLibrary.buildId();
    }

    /** The platforms that the jar has a library for, each with the id of its build; nothing is loaded. */
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
