package io.jccl.integration;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A copy of a plug-in of {@code native/test/plugin} in a folder of a test's own: it reads what it is to do from a file beside
 * it, and writes there what it was called with.
 */
record PluginFolder(Path library) {

    /**
     * Makes the copy.
     *
     * @param name of the library that is copied, such as {@code jccl_test_tuner_v5}
     * @param wanted what it is to do
     */
    static PluginFolder of(Path folder, String name, String wanted) {
        Path library = folder.resolve("lib" + name + ".so");
        try {
            Files.createDirectories(folder);
            Files.copy(Path.of(System.getProperty("jccl.test.plugins"), "lib" + name + ".so"), library);
            Files.writeString(Path.of(library + ".conf"), wanted);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new PluginFolder(library);
    }

    /** The lines of the file that is called as the library with this behind; none where there is no such file. */
    List<String> lines(String suffix) {
        try {
            Path file = Path.of(library + suffix);
            return Files.exists(file) ? Files.readAllLines(file) : List.of();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What a profiler was called with in a process. */
    List<String> events(long pid) {
        return lines("." + pid + ".events");
    }
}
