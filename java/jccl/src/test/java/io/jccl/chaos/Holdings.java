package io.jccl.chaos;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The number of kernel resources that this process holds, by kind: descriptors by their targets, threads by their
 * names, and mappings that are shared with other processes. Files and threads that the JVM opens and starts by itself
 * are left out.
 */
record Holdings(Map<String, Integer> counts) {

    private static final Pattern NUMBERS = Pattern.compile("\\d+");

    /** Jars, libraries and files of the system, which the JVM opens by itself. */
    private static final Pattern JAVAS_FILE =
            Pattern.compile(".*\\.(jar|jsa|so)|.*/lib/modules|/dev/u?random|/sys/.*|/proc/.*");

    private static final Pattern SHARED = Pattern.compile(" rw-s .* (/memfd:|/dev/shm/|/dev/zero)");

    private static final Set<String> JAVAS_THREADS = Set.of(
            "C1 CompilerThre",
            "C2 CompilerThre",
            "Sweeper thread",
            "Notification Th",
            "Signal Dispatch",
            "Attach Listener",
            "process reaper",
            "Common-Cleaner",
            "Finalizer",
            "Reference Handl",
            "Service Thread",
            "Monitor Deflati",
            "VM Thread",
            "VM Periodic Tas",
            "Cleaner-#");

    /** Counts the resources that this process holds now. */
    static Holdings now() throws IOException {
        Map<String, Integer> counts = new TreeMap<>();
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            for (Path descriptor : (Iterable<Path>) descriptors::iterator) {
                String target = targetOf(descriptor);
                if (!target.isEmpty() && !JAVAS_FILE.matcher(target).matches()) {
                    counts.merge("descriptor " + withoutNumbers(target), 1, Integer::sum);
                }
            }
        }
        try (Stream<Path> threads = Files.list(Path.of("/proc/self/task"))) {
            for (Path thread : (Iterable<Path>) threads::iterator) {
                String name = withoutNumbers(nameOf(thread));
                if (!name.isEmpty() && !JAVAS_THREADS.contains(name)) {
                    counts.merge("thread " + name, 1, Integer::sum);
                }
            }
        }
        for (String line : Files.readAllLines(Path.of("/proc/self/maps"))) {
            if (SHARED.matcher(line).find()) {
                counts.merge("mapping " + withoutNumbers(line.substring(line.indexOf('/'))), 1, Integer::sum);
            }
        }
        return new Holdings(counts);
    }

    /**
     * Returns the number of resources, by kind, that these holdings have in addition to earlier ones; empty if none.
     */
    Map<String, Integer> beyond(Holdings before) {
        Map<String, Integer> more = new TreeMap<>();
        counts.forEach((kind, count) -> {
            int difference = count - before.counts.getOrDefault(kind, 0);
            if (difference > 0) {
                more.put(kind, difference);
            }
        });
        return more;
    }

    private static String withoutNumbers(String text) {
        return NUMBERS.matcher(text).replaceAll("#");
    }

    /** Returns the target of a descriptor; empty if the descriptor has been closed meanwhile. */
    private static String targetOf(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString();
        } catch (IOException e) {
            return "";
        }
    }

    /** Returns the name of a thread; empty if the thread has ended meanwhile. */
    private static String nameOf(Path thread) {
        try {
            return Files.readString(thread.resolve("comm")).strip();
        } catch (IOException e) {
            return "";
        }
    }
}
