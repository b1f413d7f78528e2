package io.jccl.testing;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.stream.Stream;

/** Finds a JDK that is newer than the one of the build. */
public final class NewerJdk {

    private static final Path INSTALLED = Path.of("/usr/lib/jvm");

    private NewerJdk() {}

    /**
     * Returns a JDK with a compiler: the one that {@code -Djccl.jdk22} or {@code JCCL_JDK22} names, else the one of
     * this JVM, else the newest installed one. Empty if there is none of the version.
     *
     * @param feature the lowest version that is accepted
     */
    public static Optional<Path> find(int feature) {
        Stream<Path> named = Stream.of(System.getProperty("jccl.jdk22"), System.getenv("JCCL_JDK22"))
                .filter(Objects::nonNull)
                .filter(folder -> !folder.isBlank())
                .map(Path::of);
        Stream<Path> preferred = Stream.concat(named, Stream.of(Path.of(System.getProperty("java.home"))));
        return Stream.concat(preferred, installed())
                .filter(folder -> version(folder) >= feature)
                .filter(folder -> Files.isExecutable(folder.resolve("bin").resolve("javac")))
                .findFirst();
    }

    private static Stream<Path> installed() {
        try (Stream<Path> folders = Files.list(INSTALLED)) {
            return folders.sorted(Comparator.comparingInt(NewerJdk::version).reversed()).toList().stream();
        } catch (IOException e) {
            return Stream.empty();
        }
    }

    /** Reads the version from the file {@code release}, which every JDK has; returns 0 if there is no such file. */
    private static int version(Path folder) {
        Path release = folder.resolve("release");
        if (!Files.isReadable(release)) {
            return 0;
        }
        Properties properties = new Properties();
        try (InputStream in = Files.newInputStream(release)) {
            properties.load(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        String version = properties.getProperty("JAVA_VERSION", "0").replace("\"", "");
        return Integer.parseInt(version.split("\\D")[0]);
    }
}
