package io.jccl.integration;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** CPU time of each thread of this process, including native threads, as the kernel counts it. */
final class ThreadTimes {

    /** Names of the JIT compiler's threads, whose work depends on what ran before, not on what runs now. */
    private static final List<String> COMPILERS = List.of("C1 CompilerThre", "C2 CompilerThre", "Sweeper thread");

    private record Spent(String name, long nanos) {}

    private final long takenNanos = System.nanoTime();
    private final Map<String, Spent> byThread = new HashMap<>();

    private ThreadTimes() {}

    static ThreadTimes now() {
        ThreadTimes times = new ThreadTimes();
        try (Stream<Path> threads = Files.list(Path.of("/proc/self/task"))) {
            threads.forEach(times::add);
        } catch (IOException e) {
            throw new IllegalStateException("/proc/self/task cannot be read", e);
        }
        return times;
    }

    private void add(Path thread) {
        try {
            String name = Files.readString(thread.resolve("comm")).trim();
            String nanos = Files.readString(thread.resolve("schedstat")).split(" ", 2)[0];
            byThread.put(thread.getFileName().toString(), new Spent(name, Long.parseLong(nanos)));
        } catch (IOException e) {
            // the thread has ended since the folder was listed
        }
    }

    /** Returns the milliseconds between two measurements. */
    long millisAfter(ThreadTimes before) {
        return (takenNanos - before.takenNanos) / 1_000_000;
    }

    /**
     * Returns the CPU time in ms used since {@code before}, by thread name, without JIT threads and times below 1 ms.
     */
    Map<String, Long> millisSince(ThreadTimes before) {
        Map<String, Long> nanos = new TreeMap<>();
        byThread.forEach((thread, spent) -> {
            if (!COMPILERS.contains(spent.name())) {
                Spent then = before.byThread.get(thread);
                nanos.merge(spent.name(), spent.nanos() - (then == null ? 0 : then.nanos()), Long::sum);
            }
        });
        nanos.replaceAll((name, spent) -> spent / 1_000_000);
        nanos.values().removeIf(millis -> millis == 0);
        return nanos;
    }
}
