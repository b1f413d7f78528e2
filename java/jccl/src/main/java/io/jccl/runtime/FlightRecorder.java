package io.jccl.runtime;

import io.jccl.JcclException;
import io.jccl.config.RecorderSettings;
import io.jccl.config.Settings;
import io.jccl.device.HostIdentity;
import io.jccl.events.LogContext;
import io.jccl.init.InitializedCommunicator;
import io.jccl.internal.ServiceThread;
import io.jccl.internal.Threads;
import io.jccl.nativelib.Engine;
import io.jccl.wire.LastEntered;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongFunction;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes dumps of this rank's last operations, from the histories of its engines, for {@code jccl trace}. A dump is
 * written on demand, and after a failure of the communicator if {@code JCCL_DUMP_DIR} names a folder. If the dump after
 * a failure cannot be written, a warning is logged.
 */
final class FlightRecorder {

    /**
     * Maximum number of operations of each kind in a dump, even if the engines remember more. A dump with this number
     * of operations has a size of some megabytes.
     */
    static final int MAX_DUMPED = 16_384;

    private static final Logger LOG = LoggerFactory.getLogger(FlightRecorder.class);

    private final InitializedCommunicator communicator;
    private final EngineStatus status;
    private final IssueTimes issues;
    private final Supplier<List<OutstandingMessage>> messages;

    FlightRecorder(
            InitializedCommunicator communicator,
            EngineStatus status,
            IssueTimes issues,
            Supplier<List<OutstandingMessage>> messages) {
        this.communicator = communicator;
        this.status = status;
        this.issues = issues;
        this.messages = messages;
    }

    /**
     * Takes a snapshot at once, and writes the dump in the background.
     *
     * @param written is completed when the dump is written, or as soon as it is known that none will be written
     */
    void onFailure(JcclException failure, CompletableFuture<Void> written) {
        try {
            Optional<Path> folder = Settings.load(communicator.config()).get(RecorderSettings.DUMP_DIR);
            if (folder.isEmpty()) {
                written.complete(null);
                return;
            }
            Snapshot snapshot = snapshot();
            Threads.start(ServiceThread.once("jccl-dump", () -> write(folder.get(), snapshot, failure, written)));
        } catch (RuntimeException | Error e) { // no memory or no thread: the failure itself must still be reported
            written.complete(null);
            LOG.warn("communicator={} rank={}: no dump is written", communicator.id(), communicator.rank(), e);
        }
    }

    @SuppressWarnings("try") // the log context has its effect while it is open
    private void write(Path folder, Snapshot snapshot, JcclException failure, CompletableFuture<Void> written) {
        try (LogContext logs = LogContext.of(communicator.rank(), communicator.id())) {
            Path file = write(folder, snapshot, Optional.of(failure));
            LOG.info(
                    "communicator={} rank={}: wrote its last operations to {}; `jccl trace {}` compares those of all ranks",
                    communicator.id(),
                    communicator.rank(),
                    file,
                    folder);
        } catch (IOException | RuntimeException e) {
            LOG.warn(
                    "communicator={} rank={}: its last operations cannot be written to JCCL_DUMP_DIR={} ({}); name a folder"
                            + " with space that this process may write to",
                    communicator.id(),
                    communicator.rank(),
                    folder,
                    e.toString());
        } finally {
            written.complete(null);
        }
    }

    /**
     * Writes a dump now.
     *
     * @param failure the failure of the communicator, if it has failed
     * @return the file
     * @throws IOException if the file cannot be written
     */
    Path dump(Path folder, Optional<JcclException> failure) throws IOException {
        return write(folder, snapshot(), failure);
    }

    /** Writes a dump to a temporary file and renames that, so that the dump appears whole or not at all. */
    private Path write(Path folder, Snapshot snapshot, Optional<JcclException> failure) throws IOException {
        try {
            Files.createDirectories(folder);
        } catch (FileAlreadyExistsException e) {
            throw new IOException(folder + " is no folder", e);
        }
        String name = "jccl-" + communicator.id() + "-rank" + communicator.rank() + "-"
                + ProcessHandle.current().pid();
        Path file = folder.resolve(name + ".json");
        Path part = Files.createTempFile(folder, name, ".part");
        try {
            Files.writeString(part, DumpText.of(communicator, snapshot, issues, failure));
            Files.move(part, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(part);
        }
        return file;
    }

    private Snapshot snapshot() {
        Instant now = Instant.now();
        long nanoTime = System.nanoTime();
        LastEntered last = status.lastEntered();
        return new Snapshot(
                nanoTime,
                now.getEpochSecond() * 1_000_000_000 + now.getNano(),
                last(last.host(), status::recorded),
                last(last.device(), number -> status.recorded(LastEntered.onDevice(number))),
                transfers(communicator.host().engine()),
                communicator.device().map(device -> transfers(device.engine())).orElse(List.of()),
                status.waitingRows(),
                messages.get());
    }

    private static List<RecordedTransfers> transfers(Engine engine) {
        return last(engine.lastTransfers(), number -> RecordedTransfers.at(number, engine));
    }

    /**
     * Returns at most {@link #MAX_DUMPED} consecutive records, oldest first. The last one has the number
     * {@code number}.
     */
    private static <T> List<T> last(long number, LongFunction<Optional<T>> recorded) {
        List<T> found = new ArrayList<>();
        for (long at = number; at > 0 && found.size() < MAX_DUMPED; at--) {
            Optional<T> one = recorded.apply(at);
            if (one.isEmpty()) {
                break;
            }
            found.add(one.get());
        }
        Collections.reverse(found);
        return found;
    }

    /**
     * Returns an id of the clock of {@link System#nanoTime}, which the processes of a host and time namespace share.
     */
    static String clock() {
        String host = HostIdentity.host();
        try {
            return host + " " + Files.readSymbolicLink(Path.of("/proc/self/ns/time"));
        } catch (IOException | UnsupportedOperationException e) {
            return host; // older kernels have no time namespaces
        }
    }
}
