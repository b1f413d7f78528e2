package io.jccl.cli.launch;

import io.jccl.internal.Causes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Map;

/**
 * A directory for the files of one job, which only this user can enter. {@link #close()} removes it; where this process ends
 * without that, also by SIGKILL, a {@link Watchdog} ends the job's ranks and removes it. Safe for use by several threads.
 *
 * <p>Rank 0 writes the address of the rendezvous there, on a port that the system chose, with a secret of its own; so neither
 * is fixed before it is in use.
 */
public final class JobDirectory implements AutoCloseable {

    private static final SecureRandom RANDOM = new SecureRandom();

    private final Path directory;
    private final Watchdog watchdog;

    private JobDirectory(Path directory, Watchdog watchdog) {
        this.directory = directory;
        this.watchdog = watchdog;
    }

    /**
     * Makes the directory, empty.
     *
     * @param grace how long a rank may take to end after TERM before the watchdog kills it
     */
    public static JobDirectory create(Duration grace) throws IOException {
        return create(Path.of(System.getProperty("java.io.tmpdir")), grace);
    }

    /** Makes the directory in another. */
    static JobDirectory create(Path parent, Duration grace) throws IOException {
        byte[] name = new byte[8];
        RANDOM.nextBytes(name);
        Path directory =
                parent.toAbsolutePath().resolve("jccl-job-" + HexFormat.of().formatHex(name));
        Watchdog watchdog = Watchdog.start(directory, grace); // first, so that the directory is never without one
        try {
            Files.createDirectory(
                    directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            return new JobDirectory(directory, watchdog);
        } catch (IOException e) {
            watchdog.close();
            throw new IOException(
                    "directory=" + directory + ": the job's directory cannot be made: " + Causes.describe(e)
                            + "; name another place with JCCL_JAVA_OPTS=-Djava.io.tmpdir=PATH",
                    e);
        }
    }

    /** The path of a file in this directory. */
    public Path resolve(String name) {
        return directory.resolve(name);
    }

    /** The setting JCCL_RENDEZVOUS of every rank, where this directory's launcher starts them all. */
    String rendezvous() {
        return "file:" + directory.resolve("rendezvous");
    }

    /** Adds to a rank's environment that by which the watchdog knows the processes of the job. */
    void mark(Map<String, String> environment) {
        environment.put(Watchdog.MARK, directory.toString());
    }

    /** The watchdog ends this rank too if this process is killed. */
    void started(Process rank) {
        watchdog.started(rank.pid());
    }

    /** The rank's process id may belong to another process from now on. */
    void ended(Process rank) {
        watchdog.ended(rank.pid());
    }

    /** Removes the directory and the files in it. A second call does nothing. */
    @Override
    public synchronized void close() {
        if (Files.exists(directory)) {
            try (DirectoryStream<Path> left = Files.newDirectoryStream(directory)) {
                for (Path file : left) {
                    Files.deleteIfExists(file);
                }
                Files.deleteIfExists(directory);
            } catch (IOException e) {
                throw new UncheckedIOException("directory=" + directory + " cannot be removed; remove it by hand", e);
            }
        }
        watchdog.close();
    }
}
