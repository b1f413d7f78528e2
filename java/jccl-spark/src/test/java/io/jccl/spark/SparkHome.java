package io.jccl.spark;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Makes a folder like that of Spark's distribution from the test's own class path. Executors that Spark starts as
 * processes find Spark's jars in it. {@code SPARK_HOME} in the environment names it.
 */
final class SparkHome {

    private static final Path HOME = Path.of(System.getenv("SPARK_HOME"));

    private SparkHome() {}

    /**
     * Makes the folder anew, with links to Spark's jars and, if {@code withJccl}, to the jars of JCCL and of the tests.
     */
    static Path make(boolean withJccl) {
        try {
            Path jars = Files.createDirectories(HOME.resolve("jars"));
            clear(jars);
            for (Path entry : classPath()) {
                if (!isOurs(entry)) {
                    Files.createSymbolicLink(jars.resolve(entry.getFileName()), entry);
                }
            }
            if (withJccl) {
                for (Path jar : ourJars()) {
                    Files.createSymbolicLink(jars.resolve(jar.getFileName()), jar);
                }
            }
            return HOME;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns JCCL's jars and a jar of the tests, for the option {@code --jars} of {@code spark-submit}. */
    static List<Path> ourJars() {
        return classPath().stream()
                .filter(SparkHome::isOurs)
                .map(SparkHome::asJar)
                .collect(Collectors.toList());
    }

    private static List<Path> classPath() {
        return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .map(Path::of)
                .filter(Files::exists)
                .collect(Collectors.toList());
    }

    private static boolean isOurs(Path entry) {
        return Files.isDirectory(entry) || entry.getFileName().toString().startsWith("jccl");
    }

    private static Path asJar(Path entry) {
        if (!Files.isDirectory(entry)) {
            return entry;
        }
        Path module = entry.getName(entry.getNameCount() - 3); // JCCL is a folder in Maven's phase `test`
        Path jar = HOME.resolveSibling("tests-" + module + "-" + entry.getFileName() + ".jar");
        int status = ToolProvider.findFirst("jar")
                .orElseThrow()
                .run(System.out, System.err, "--create", "--file", jar.toString(), "-C", entry.toString(), ".");
        if (status != 0) {
            throw new IllegalStateException("jar of " + entry + " status=" + status);
        }
        return jar;
    }

    private static void clear(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder).sorted(Comparator.reverseOrder())) {
            for (Path file : files.filter(f -> !f.equals(folder)).collect(Collectors.toList())) {
                Files.delete(file);
            }
        }
    }
}
