package io.jccl.testing;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Counts the kernel resources that this process holds. */
public final class Resources {

    /**
     * The counts at one moment.
     *
     * @param descriptors the number of open files and sockets
     * @param threads the names of the threads of Java and native code
     * @param sharedMappings the number of mappings of memory between ranks, and of slots of network connections
     * @param nativeBytes the bytes outside Java's heap and classes that are backed by pages
     * @param verbsObjects the number of protection domains, completion queues, queue pairs and memory regions of
     *     InfiniBand verbs; 0 outside the virtual machine of scripts/rdma-vm. Objects of all processes are counted,
     *     because the kernel reports only the threads that created them, and these may have ended. In that virtual
     *     machine no other process has such objects.
     */
    public record Snapshot(
            int descriptors, List<String> threads, int sharedMappings, long nativeBytes, int verbsObjects) {}

    /** True in the virtual machine of scripts/rdma-vm, whose CPU is emulated and slow. */
    public static final boolean IN_RDMA_VM = "1".equals(System.getenv("RDMA_VM"));

    /** Java's heap and classes are below this address if references are compressed. */
    private static final long FIRST_NATIVE_ADDRESS = 1L << 40;

    private static final Pattern MAPPING = Pattern.compile("^([0-9a-f]+)-[0-9a-f]+ ");

    /** Slots of network connections are in anonymous shared memory, which the kernel shows as /dev/zero. */
    private static final Pattern SHARED = Pattern.compile(" rw-s .* (/memfd:|/dev/shm/jccl-|/dev/zero)");

    private static final Pattern HOST_BUFFER = Pattern.compile(" rw-s .* /memfd:HostBuffer ");

    /** Mark of the program rdma for objects that no process has created. */
    private static final String KERNELS_OWN = " comm [";

    /**
     * Threads that the JVM starts and ends by itself: its compilers, and threads that wait for other processes to end.
     */
    private static final Pattern JAVAS_OWN = Pattern.compile("C[12] CompilerThre|process reaper");

    private Resources() {}

    /** Counts the resources that this process holds now. */
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
            return new Snapshot(descriptors(), threads(), shared, resident, verbsObjects());
        } catch (IOException e) {
            throw new IllegalStateException("/proc/self, or what the program rdma shows, cannot be read", e);
        }
    }

    /** Returns the number of host buffers that this process maps, its own and those of other processes. */
    public static int hostBufferMappings() {
        return (int) smaps().stream().filter(HOST_BUFFER.asPredicate()).count();
    }

    /** Returns the bytes of mapped host buffers, its own and those of other processes, that are backed by pages. */
    public static long hostBufferBytes() {
        long resident = 0;
        boolean inHostBuffer = false;
        for (String line : smaps()) {
            if (MAPPING.matcher(line).find()) {
                inHostBuffer = HOST_BUFFER.matcher(line).find();
            } else if (inHostBuffer && line.startsWith("Rss:")) {
                resident += Long.parseLong(line.replaceAll("\\D+", "")) * 1024;
            }
        }
        return resident;
    }

    private static List<String> smaps() {
        try {
            return Files.readAllLines(Path.of("/proc/self/smaps"));
        } catch (IOException e) {
            throw new IllegalStateException("/proc/self/smaps cannot be read", e);
        }
    }

    private static int descriptors() throws IOException {
        try (Stream<Path> entries = Files.list(Path.of("/proc/self/fd"))) {
            return (int) entries.count() - 1; // without the descriptor of this listing
        }
    }

    private static List<String> threads() throws IOException {
        try (Stream<Path> entries = Files.list(Path.of("/proc/self/task"))) {
            return entries.map(Resources::threadName)
                    .filter(name -> !name.isEmpty() && !JAVAS_OWN.matcher(name).matches())
                    .sorted()
                    .toList();
        }
    }

    /** Returns the name of a thread; empty if the thread has ended meanwhile. */
    private static String threadName(Path thread) {
        try {
            return Files.readString(thread.resolve("comm")).strip();
        } catch (IOException e) {
            return "";
        }
    }

    private static int verbsObjects() throws IOException {
        if (!IN_RDMA_VM) {
            return 0;
        }
        int count = 0;
        for (String kind : List.of("pd", "cq", "qp", "mr")) {
            ProcessBuilder rdma = new ProcessBuilder("rdma", "resource", "show", kind)
                    .redirectInput(new File("/dev/null"))
                    .redirectError(ProcessBuilder.Redirect.DISCARD);
            try (BufferedReader shown = rdma.start().inputReader(StandardCharsets.UTF_8)) {
                count += (int) shown.lines()
                        .filter(line -> !line.contains(KERNELS_OWN))
                        .count();
            }
        }
        return count;
    }
}
