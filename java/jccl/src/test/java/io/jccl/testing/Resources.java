package io.jccl.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** What this process holds of the kernel's resources. */
public final class Resources {

    /**
     * The counts at one moment.
     *
     * @param descriptors open files and sockets
     * @param threads of Java and native code
     * @param sharedMappings mappings of memory between ranks, and of the slots of network connections
     * @param nativeBytes memory outside Java's heap and classes that is backed by pages
     */
    public record Snapshot(int descriptors, int threads, int sharedMappings, long nativeBytes) {}

    /** Java's heap, and the classes beside it, lie below this address as long as references are compressed. */
    private static final long FIRST_NATIVE_ADDRESS = 1L << 40;

    private static final Pattern MAPPING = Pattern.compile("^([0-9a-f]+)-[0-9a-f]+ ");

    /** Anonymous shared memory, which the slots of network connections lie in, is the kernel's /dev/zero. */
    private static final Pattern SHARED = Pattern.compile(" rw-s .* (/memfd:|/dev/shm/jccl-|/dev/zero)");

    private Resources() {}

    /** Counts now. */
    public static Snapshot now() {
        try {
            int shared = 0;
            long resident = 0;
            boolean outsideHeap = false;
            for (String line : Files.readAllLines(Path.of("/proc/self/smaps"))) {
                Matcher mapping = MAPPING.matcher(line);
                if (mapping.find()) {
                    outsideHeap = Long.parseUnsignedLong(mapping.group(1), 16) >= FIRST_NATIVE_ADDRESS;
                    shared += SHARED.matcher(line).find() ? 1 : 0;
                } else if (outsideHeap && line.startsWith("Rss:")) {
                    resident += Long.parseLong(line.replaceAll("\\D+", "")) * 1024;
                }
            }
            return new Snapshot(count(Path.of("/proc/self/fd")), count(Path.of("/proc/self/task")), shared, resident);
        } catch (IOException e) {
            throw new IllegalStateException("/proc/self cannot be read", e);
        }
    }

    private static int count(Path folder) throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return (int) entries.count() - (folder.endsWith("fd") ? 1 : 0); // without the one that lists
        }
    }
}
