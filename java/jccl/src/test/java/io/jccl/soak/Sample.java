package io.jccl.soak;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The resources that a process holds at one moment, between two epochs.
 *
 * @param process the name of the process
 * @param seconds the time since the start of the run
 * @param residentKib all memory of the process that is backed by pages
 * @param nativeKib the part of that memory that is neither Java's heap and classes nor shared
 * @param sharedKib the part of that memory that is shared with other processes: segments between ranks, and host
 *     buffers
 * @param descriptors the number of open files and sockets
 * @param threads the number of threads of Java and native code
 */
record Sample(
        String process,
        double seconds,
        long residentKib,
        long nativeKib,
        long sharedKib,
        int descriptors,
        int threads) {

    static final String HEADER = "process,seconds,resident_kib,native_kib,shared_kib,descriptors,threads";

    /** Java's heap and classes are below this address if references are compressed. */
    private static final long FIRST_NATIVE_ADDRESS = 1L << 40;

    private static final Pattern MAPPING = Pattern.compile("^([0-9a-f]+)-[0-9a-f]+ (\\S+) ");

    static Sample of(String process, long pid, double seconds) throws IOException {
        Path folder = Path.of("/proc", Long.toString(pid));
        long resident = 0;
        long outside = 0;
        long shared = 0;
        boolean isNative = false;
        boolean isShared = false;
        for (String line : Files.readAllLines(folder.resolve("smaps"))) {
            Matcher mapping = MAPPING.matcher(line);
            if (mapping.find()) {
                isShared = mapping.group(2).endsWith("s");
                isNative = !isShared && Long.parseUnsignedLong(mapping.group(1), 16) >= FIRST_NATIVE_ADDRESS;
            } else if (line.startsWith("Rss:")) {
                long kib = Long.parseLong(line.replaceAll("\\D+", ""));
                resident += kib;
                outside += isNative ? kib : 0;
                shared += isShared ? kib : 0;
            }
        }
        return new Sample(
                process,
                seconds,
                resident,
                outside,
                shared,
                count(folder.resolve("fd")),
                count(folder.resolve("task")));
    }

    private static int count(Path folder) throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return (int) entries.count();
        }
    }

    boolean holdsMoreThan(Sample other) {
        return descriptors > other.descriptors || threads > other.threads;
    }

    String toCsv() {
        return String.format(
                Locale.ROOT,
                "%s,%.1f,%d,%d,%d,%d,%d",
                process,
                seconds,
                residentKib,
                nativeKib,
                sharedKib,
                descriptors,
                threads);
    }
}
