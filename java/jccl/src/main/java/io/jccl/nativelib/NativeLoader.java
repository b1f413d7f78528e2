package io.jccl.nativelib;

/**
 * Loads the native library, once for the class loader. Every class with native methods calls {@link #load()} in its
 * static initializer.
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

    private static final class Holder {
        static final NativeLoadException FAILURE = attempt();

        private static NativeLoadException attempt() {
            try {
                NativeLibraryFinder.ofThisJvm().load(path -> System.load(path), NativeLibrary::buildId);
                LogDrain.start();
                return null;
            } catch (NativeLoadException failure) {
                return failure;
            }
        }
    }
}
