package io.jccl.nativelib;

import io.jccl.internal.Causes;
import io.jccl.internal.Resources;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Finds the native library, has it loaded, and checks that it belongs to these classes.
 *
 * <p>{@code -Djccl.native.path=FILE_OR_DIRECTORY} names the library, and no other is tried. Otherwise the library in
 * the jar is copied to a private directory in the first place that allows mapping it; the copy is deleted as soon as it
 * is loaded. The JVM loads a file for only one class loader at a time, so a further class loader loads a copy of a
 * named library, too.
 */
final class NativeLibraryFinder {

    static final String PATH_PROPERTY = "jccl.native.path";
    private static final String RESOURCES = "META-INF/native/";
    private static final String BUILD_ID = "build-id";

    private final Platform platform;
    private final Optional<Path> override;
    private final List<Path> places;
    private final ClassLoader resources;

    /**
     * @param override the value of {@value #PATH_PROPERTY}, if it is set
     * @param places directories to copy the library to, best first
     * @param resources class loader in which {@code META-INF/native} is searched for
     */
    NativeLibraryFinder(Platform platform, Optional<Path> override, List<Path> places, ClassLoader resources) {
        this.platform = platform;
        this.override = override;
        this.places = places;
        this.resources = resources;
    }

    static NativeLibraryFinder ofThisJvm() {
        Set<Path> places = new LinkedHashSet<>();
        add(places, System.getProperty("java.io.tmpdir"));
        add(places, System.getenv("XDG_RUNTIME_DIR"));
        add(places, System.getProperty("user.home")); // the value is "?" for a user without an entry in passwd
        add(places, "/var/tmp");
        add(places, "/dev/shm");
        String named = System.getProperty(PATH_PROPERTY);
        return new NativeLibraryFinder(
                Platform.ofThisJvm(),
                named == null || named.isBlank() ? Optional.empty() : Optional.of(Path.of(named)),
                List.copyOf(places),
                NativeLibraryFinder.class.getClassLoader());
    }

    private static void add(Set<Path> places, String place) {
        if (place != null && place.startsWith("/")) {
            places.add(Path.of(place));
        }
    }

    /**
     * Loads the library.
     *
     * @param loader loads the library at an absolute path, as {@link System#load} does
     * @param loadedBuildId supplies the build id of the loaded library
     * @throws NativeLoadException if no library can be loaded, or it belongs to other classes
     */
    void load(Consumer<String> loader, Supplier<String> loadedBuildId) {
        Optional<String> obstacle = platform.obstacle();
        if (override.isEmpty() && obstacle.isPresent()) {
            throw new NativeLoadException(obstacle.get());
        }
        String expected = expectedBuildId();
        String file = platform.libraryFile();
        Path loaded = override.isPresent() ? loadOverride(override.get(), loader) : loadEmbedded(file, loader);
        requireBuild(loaded, expected, loadedBuildId);
    }

    /**
     * Loads a further library from the place of the first one.
     *
     * @param file name of the further library
     * @param named the library to load instead, if one is named
     * @param loader loads the library at an absolute path, as {@link System#load} does
     * @param loadedBuildId supplies the build id of the loaded library
     * @throws NativeLoadException if no library can be loaded, or it belongs to other classes
     */
    void loadBeside(String file, Optional<Path> named, Consumer<String> loader, Supplier<String> loadedBuildId) {
        String expected = expectedBuildId();
        Optional<Path> path = named.or(() -> override.map(it -> beside(it, file)));
        if (path.isEmpty()) {
            requireBuild(loadEmbedded(file, loader), expected, loadedBuildId);
            return;
        }
        if (!Files.isRegularFile(path.get())) {
            throw new NativeLoadException(
                    "library=" + path.get().toAbsolutePath() + ": expected a library, found none");
        }
        try {
            mapNamed(path.get(), loader);
        } catch (IOException e) {
            throw new NativeLoadException("library=" + path.get() + ": cannot be read: " + Causes.describe(e), e);
        }
        requireBuild(path.get(), expected, loadedBuildId);
    }

    private static Path beside(Path override, String file) {
        return Files.isDirectory(override) ? override.resolve(file) : override.resolveSibling(file);
    }

    /** Returns the build id of the library in the jar, if the jar contains one for the platform. */
    Optional<String> embeddedBuildId() {
        return buildIdFor(platform);
    }

    /**
     * Returns true if a file of this name is where the native library is: in the directory that {@value #PATH_PROPERTY}
     * names, or in the jar if the property is not set.
     */
    boolean has(String file) {
        return override.map(path -> Files.isRegularFile(beside(path, file)))
                .orElseGet(() -> resources.getResource(resource(file)) != null);
    }

    private Path loadOverride(Path path, Consumer<String> loader) {
        Path library = Files.isDirectory(path) ? path.resolve(platform.libraryFile()) : path;
        String setting = "-D" + PATH_PROPERTY + "=" + path;
        if (!Files.isRegularFile(library)) {
            throw new NativeLoadException(setting + ": expected a library or a directory with " + platform.libraryFile()
                    + " in it, found none at " + library.toAbsolutePath());
        }
        try {
            mapNamed(library, loader);
        } catch (NativeLoadException | IOException reason) {
            throw withAttempts(
                    "the library of " + setting + " cannot be used: " + Causes.describe(reason), List.of(reason));
        }
        return library;
    }

    private Path loadEmbedded(String file, Consumer<String> loader) {
        return loadCopy(file, () -> open(file), loader);
    }

    /** Loads a named library; loads a copy if another class loader has loaded the file already. */
    private void mapNamed(Path library, Consumer<String> loader) throws IOException {
        try {
            map(library, loader);
        } catch (NativeLoadException failure) {
            if (!LinkFailures.isOfAnotherLoader(failure.getCause())) {
                throw failure;
            }
            loadCopy(library.getFileName().toString(), () -> Files.newInputStream(library), loader);
        }
    }

    /** A source of a library's bytes. */
    private interface Source {
        InputStream open() throws IOException;
    }

    private Path loadCopy(String file, Source source, Consumer<String> loader) {
        List<Exception> attempts = new ArrayList<>();
        for (Path place : places) {
            try {
                return copyAndMap(place, file, source, loader);
            } catch (NativeLoadException | IOException reason) {
                attempts.add(reason);
            }
        }
        String first = attempts.isEmpty() ? "no directory to extract it to" : Causes.describe(attempts.get(0));
        throw withAttempts(
                "the native library cannot be loaded from any of places=" + places + ": " + first
                        + "; name another directory with -Djava.io.tmpdir, or a library with -D" + PATH_PROPERTY,
                attempts);
    }

    private Path copyAndMap(Path place, String file, Source source, Consumer<String> loader) throws IOException {
        Path directory = Files.createTempDirectory(
                place, "jccl-", PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Path library = directory.resolve(file);
        try {
            try (InputStream in = source.open()) {
                Files.copy(in, library);
            }
            map(library, loader);
            return library;
        } finally {
            Files.deleteIfExists(library);
            Files.deleteIfExists(directory);
        }
    }

    private void map(Path library, Consumer<String> loader) throws IOException {
        String architecture = ElfHeader.architecture(library);
        if (!architecture.equals(platform.arch())) {
            throw new NativeLoadException("library=" + library + " architecture=" + architecture + ": expected "
                    + platform.arch() + ", the processor this JVM runs on");
        }
        try {
            loader.accept(library.toAbsolutePath().toString());
        } catch (UnsatisfiedLinkError failure) {
            throw new NativeLoadException(LinkFailures.explain(library, Causes.describe(failure)), failure);
        }
    }

    /**
     * Returns the build id of these classes. The id is the same on all platforms, so a named library can be checked on
     * any of them.
     */
    private String expectedBuildId() {
        Optional<String> build = buildIdFor(platform);
        if (override.isPresent()) {
            for (Platform one : Platform.RELEASED) {
                if (build.isEmpty()) {
                    build = buildIdFor(one);
                }
            }
        }
        if (build.isEmpty()) {
            throw new NativeLoadException(override.isPresent() ? unchecked() : platform.absence());
        }
        return build.get();
    }

    private Optional<String> buildIdFor(Platform one) {
        String resource = RESOURCES + one.directory() + "/" + BUILD_ID;
        try (InputStream in = Resources.open(resources.getResource(resource))) {
            return Optional.ofNullable(
                    in == null ? null : new String(in.readAllBytes(), StandardCharsets.US_ASCII).strip());
        } catch (IOException e) {
            throw new NativeLoadException("resource=" + resource + ": cannot be read: " + Causes.describe(e), e);
        }
    }

    private String unchecked() {
        return "-D" + PATH_PROPERTY + "=" + override.orElseThrow() + ": this jar has no " + RESOURCES + "PLATFORM/"
                + BUILD_ID
                + ", which says what build of the library these classes need; keep META-INF/native when jars are"
                + " packed into a larger one";
    }

    private static void requireBuild(Path library, String expected, Supplier<String> loadedBuildId) {
        String actual;
        try {
            actual = loadedBuildId.get();
        } catch (UnsatisfiedLinkError failure) {
            throw new NativeLoadException(
                    "library=" + library + " buildId=none: expected buildId=" + expected
                            + ", the build of these classes; the file is no JCCL library, or one of another version",
                    failure);
        }
        if (!expected.equals(actual)) {
            throw new NativeLoadException("library=" + library + " buildId=" + actual + ": expected buildId=" + expected
                    + ", the build of these classes; use the library of the same jar, or build both again");
        }
    }

    private InputStream open(String name) throws IOException {
        InputStream in = Resources.open(resources.getResource(resource(name)));
        if (in == null) {
            throw new NativeLoadException(
                    name.equals(NativeLoader.CUDA_LIBRARY) ? platform.cudaAbsence() : platform.absence());
        }
        return in;
    }

    private String resource(String name) {
        return RESOURCES + platform.directory() + "/" + name;
    }

    private static NativeLoadException withAttempts(String message, List<? extends Exception> attempts) {
        NativeLoadException failure = new NativeLoadException(message);
        attempts.forEach(failure::addSuppressed);
        return failure;
    }
}
