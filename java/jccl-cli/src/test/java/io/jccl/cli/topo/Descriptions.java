package io.jccl.cli.topo;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** The descriptions of hosts that come with the library's tests, and those beside the project where there are any. */
public final class Descriptions {

    private static final Path OWN = Path.of("../jccl/src/test/resources/io/jccl");
    private static final Path BESIDE = Path.of("../../../shared/topologies");

    private Descriptions() {}

    /** All of them, in the same order each time. */
    public static List<Path> all() {
        return Stream.of(OWN.resolve("search"), OWN.resolve("topology"), BESIDE)
                .filter(Files::isDirectory)
                .flatMap(Descriptions::below)
                .sorted()
                .toList();
    }

    /** The text of one. */
    public static String read(Path description) {
        try {
            return Files.readString(description);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Stream<Path> below(Path folder) {
        try {
            return Files.walk(folder).filter(file -> file.toString().endsWith(".xml"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
