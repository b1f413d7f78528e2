package io.jccl.architecture;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Checks the layers of the native library: a folder includes only from itself and from lower layers. */
class NativeLayersTest {

    private static final Path NATIVE = Path.of("../../native");
    private static final Pattern INCLUDE = Pattern.compile("^\\s*#\\s*include\\s+\"([a-z_]+)/[^\"]+\"");

    private static final Pattern STARTS_THREAD =
            Pattern.compile("std::thread(\\s+\\w+)?\\s*[({]|std::jthread|std::async|(?<!\")pthread_create\\s*\\(");

    private static final Map<String, Integer> LAYERS = Map.ofEntries(
            entry("tuner", 5), // parts that can be left out, so nothing includes them
            entry("profiler", 5),
            entry("collnet", 5),
            entry("pxn", 5),
            entry("windows", 5),
            entry("messages", 5),
            entry("jni", 4),
            entry("engine", 3),
            entry("collectives", 2),
            entry("transport", 2),
            entry("primitives", 1),
            entry("verbs", 1),
            entry("nvml", 1),
            entry("plugin", 1),
            entry("crypto", 1),
            entry("base", 0),
            entry("glibc", 0),
            entry("lightgbm", 0)); // a separate library, which includes no other folder

    /** Folders that are not part of the library and may use all of it. */
    private static final List<String> UNLAYERED = List.of("test", "bench", "fuzz");

    @Test
    void everyFolderHasALayer() throws IOException {
        try (Stream<Path> folders = Files.list(NATIVE).filter(Files::isDirectory)) {
            assertThat(folders.map(folder -> folder.getFileName().toString()))
                    .isNotEmpty()
                    .allSatisfy(folder -> assertThat(LAYERS.containsKey(folder) || UNLAYERED.contains(folder))
                            .isTrue());
        }
    }

    @Test
    void aFolderIncludesOnlyFromLowerLayers() throws IOException {
        List<String> violations = new ArrayList<>();
        int includes = 0;
        for (Path file : sources()) {
            String folder = NATIVE.relativize(file).getName(0).toString();
            for (String line : Files.readAllLines(file)) {
                Matcher include = INCLUDE.matcher(line);
                if (include.find()) {
                    includes++;
                    if (!mayInclude(folder, include.group(1))) {
                        violations.add(file + ": " + line.strip());
                    }
                }
            }
        }
        assertThat(includes).isPositive();
        assertThat(violations).isEmpty();
    }

    /** An exception that leaves a thread's body ends the process. Only base/thread.h catches such exceptions. */
    @Test
    void threadsAreStartedInOnePlace() throws IOException {
        List<String> violations = new ArrayList<>();
        for (Path file : sources()) {
            for (String line : Files.readAllLines(file)) {
                if (STARTS_THREAD.matcher(line).find() && !file.endsWith("base/thread.h")) {
                    violations.add(file + ": " + line.strip());
                }
            }
        }
        assertThat(violations).isEmpty();
    }

    private static List<Path> sources() throws IOException {
        try (Stream<Path> files = Files.walk(NATIVE)) {
            return files.filter(file -> file.toString().matches(".*\\.(h|cc)"))
                    .filter(file -> !UNLAYERED.contains(
                            NATIVE.relativize(file).getName(0).toString()))
                    .filter(file -> !file.getParent().endsWith("test"))
                    .sorted()
                    .toList();
        }
    }

    private static boolean mayInclude(String folder, String other) {
        return folder.equals(other) || LAYERS.containsKey(other) && LAYERS.get(other) < LAYERS.get(folder);
    }
}
