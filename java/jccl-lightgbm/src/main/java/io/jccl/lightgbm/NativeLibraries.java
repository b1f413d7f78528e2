package io.jccl.lightgbm;

import io.jccl.JcclException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Copies native libraries out of jars and loads them. */
final class NativeLibraries {

    private static final String NETWORK = "libjccl_lightgbm.so";

    private NativeLibraries() {}

    /**
     * Loads the library of {@link NativeNetwork}, once.
     *
     * @throws JcclException if it cannot be loaded; the message says why
     */
    static void loadNetwork() {
        if (Network.FAILURE != null) {
            throw new JcclException(Network.FAILURE.getMessage(), Network.FAILURE);
        }
    }

    /**
     * Loads libraries in the given order; a library may depend on earlier ones.
     *
     * @param folder folder that contains the libraries among the loader's resources
     * @throws JcclException if one cannot be loaded; the message says why
     */
    static void loadLightGbm(ClassLoader loader, String folder, String... files) {
        if (!platform().equals("linux-x86_64")) {
            throw new JcclException("platform=" + platform()
                    + ": expected linux-x86_64, for which lightgbmlib has LightGBM; elsewhere build it with SWIG for Java, and load"
                    + " it with System.load");
        }
        load(loader, folder, files);
    }

    private static void load(ClassLoader loader, String folder, String... files) {
        Path file = Path.of(System.getProperty("java.io.tmpdir"));
        try {
            Path directory = Files.createTempDirectory(file, "jccl-lightgbm-"); // only this user may enter it
            try {
                for (String name : files) {
                    file = directory.resolve(name);
                    copy(loader, folder + name, file);
                    System.load(file.toString());
                }
            } finally {
                for (String name : files) {
                    Files.deleteIfExists(directory.resolve(name));
                }
                Files.delete(directory);
            }
        } catch (IOException e) {
            throw new JcclException(
                    "library=" + file + ": cannot be written: " + e + "; name another directory with -Djava.io.tmpdir",
                    e);
        } catch (UnsatisfiedLinkError e) {
            throw new JcclException("library=" + file + ": cannot be loaded: " + e.getMessage() + remedy(e), e);
        }
    }

    private static void copy(ClassLoader loader, String resource, Path file) throws IOException {
        try (InputStream in = loader.getResourceAsStream(resource)) {
            if (in == null) {
                throw new JcclException("resource=" + resource + ": expected it in a jar of the class path, found none;"
                        + " keep native libraries when jars are packed into a larger one");
            }
            Files.copy(in, file);
        }
    }

    /** Returns the remedy for an error of the dynamic linker; an empty text if none is known. */
    private static String remedy(UnsatisfiedLinkError error) {
        String message = String.valueOf(error.getMessage());
        if (message.contains("libgomp")) {
            return "; install OpenMP's library, such as Debian's package libgomp1";
        }
        if (message.contains("failed to map segment")) {
            return "; the file system forbids executing: name another directory with -Djava.io.tmpdir";
        }
        return "";
    }

    private static String platform() {
        String arch = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        return System.getProperty("os.name").toLowerCase(Locale.ROOT) + "-" + (arch.equals("amd64") ? "x86_64" : arch);
    }

    private static final class Network {
        static final @Nullable JcclException FAILURE = attempt();

        private static @Nullable JcclException attempt() {
            try {
                load(NativeLibraries.class.getClassLoader(), "META-INF/native/" + platform() + "/", NETWORK);
                return null;
            } catch (JcclException failure) {
                return failure;
            }
        }
    }
}
