package io.jccl.lightgbm;

import com.microsoft.ml.lightgbm.lightgbmlib;

/**
 * Loads the native library of LightGBM that {@code com.microsoft.ml.lightgbm:lightgbmlib} contains. Applications that
 * load it themselves, as SynapseML does, do not need this class.
 */
public final class LightGbmLibrary {

    private static final String FOLDER = "com/microsoft/ml/lightgbm/linux/x86_64/";

    private LightGbmLibrary() {}

    /**
     * Makes the native methods of {@link lightgbmlib} usable. Does nothing if they already are.
     *
     * @throws io.jccl.JcclException if the library cannot be loaded; the message says why
     */
    public static synchronized void load() {
        if (!isLoaded()) {
            NativeLibraries.loadLightGbm(
                    lightgbmlib.class.getClassLoader(), FOLDER, "lib_lightgbm.so", "lib_lightgbm_swig.so");
        }
    }

    static void requireLoaded() {
        if (!isLoaded()) {
            throw new IllegalStateException("LightGBM's library is not loaded: call LightGbmLibrary.load() first");
        }
    }

    private static boolean isLoaded() {
        try {
            lightgbmlib.LGBM_GetLastError();
            return true;
        } catch (UnsatisfiedLinkError e) {
            return false;
        }
    }
}
