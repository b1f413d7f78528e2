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
 * A directory for the files of one job, which only this user can enter. {@link #close()} removes it. If this process
 * ends without closing it, even by SIGKILL, a {@link Watchdog} ends the job's ranks and removes the directory. Safe for
 * use by several threads.
 *
 * <p>Rank 0 writes the address of the rendezvous server into the directory: a port that the system chose when the
 * server opened it, and a new secret. So neither the port nor the secret is fixed before the server uses it.
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
     * Creates the directory, empty.
     *
     * @param grace time that a rank may take to end after TERM before the watchdog kills it
     */
    public static JobDirectory create(Duration grace) throws IOException {
        return create(Path.of(System.getProperty("java.io.tmpdir")), grace);
    }

    /** Creates the directory in {@code parent}. */
    static JobDirectory create(Path parent, Duration grace) throws IOException {
        byte[] name = new byte[8];
        RANDOM.nextBytes(name);
        Path directory =
                parent.toAbsolutePath().resolve("jccl-job-" + HexFormat.of().formatHex(name));
        Watchdog watchdog = Watchdog.start(directory, grace); // before the directory exists, so it is always watched
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

    /** Returns the path of a file in this directory. */
    public Path resolve(String name) {
        return directory.resolve(name);
    }

    /** Returns JCCL_RENDEZVOUS for ranks that are all started by this directory's launcher. */
    String rendezvous() {
        return "file:" + directory.resolve("rendezvous");
    }

    /** Adds to a rank's environment the variable by which the watchdog recognises processes of the job. */
    void mark(Map<String, String> environment) {
        environment.put(Watchdog.MARK, directory.toString());
    }

    /** Tells the watchdog to end this rank if this process is killed. */
    void started(Process rank) {
        watchdog.started(rank.pid());
    }

    /** Tells the watchdog that the rank has ended: another process may get its process id. */
    void ended(Process rank) {
        watchdog.ended(rank.pid());
    }

    /** Removes the directory and its files, and ends the watchdog. A second call does nothing. */
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
