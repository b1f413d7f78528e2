package io.jccl.cli.launch;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Where the ranks of one job meet: a file in a directory that only this user can enter. Rank 0 writes its address there,
 * on a port that the system chose, with a secret of its own; so neither is fixed before it is in use.
 */
final class Rendezvous implements AutoCloseable {

    private final Path directory;

    private Rendezvous(Path directory) {
        this.directory = directory;
    }

    /** Makes the directory. */
    static Rendezvous create() throws IOException {
        return new Rendezvous(Files.createTempDirectory("jccl-job-")); // its mode is rwx------
    }

    /** The setting JCCL_RENDEZVOUS of every rank. */
    String setting() {
        return "file:" + directory.resolve("rendezvous");
    }

    /** Removes the directory and what ranks left in it. A second call does nothing. */
    @Override
    public void close() {
        if (!Files.exists(directory)) {
            return;
        }
        try (DirectoryStream<Path> left = Files.newDirectoryStream(directory)) {
            for (Path file : left) {
                Files.deleteIfExists(file);
            }
            Files.deleteIfExists(directory);
        } catch (IOException e) {
            throw new UncheckedIOException("directory=" + directory + " cannot be removed; remove it by hand", e);
        }
    }
}
