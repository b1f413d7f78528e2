package io.jccl.cli.topo;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * Finds the descriptions of hosts that belong to the library's tests and, if they exist, those in
 * {@code shared/topologies} next to the repository.
 */
public final class Descriptions {

    private static final Path OWN = Path.of("../jccl/src/test/resources/io/jccl");
    private static final Path BESIDE = Path.of("../../../shared/topologies");

    private Descriptions() {}

    /** Returns all descriptions, always in the same order. */
    public static List<Path> all() {
        return Stream.of(OWN.resolve("search"), OWN.resolve("topology"), BESIDE)
                .filter(Files::isDirectory)
                .flatMap(Descriptions::below)
                .sorted()
                .toList();
    }

    /** Returns the text of a description. */
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
