package io.jccl.integration;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A copy of a plug-in of {@code native/test/plugin} in a test's own folder. The plug-in reads its instructions from a
 * file next to it, and writes its calls to files there.
 */
record PluginFolder(Path library) {

    /**
     * Copies the plug-in.
     *
     * @param name the library's name, such as {@code jccl_test_tuner_v5}
     * @param wanted instructions for the plug-in
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

    /** Returns the lines of the file whose name is the library's with {@code suffix}; none if it does not exist. */
    List<String> lines(String suffix) {
        try {
            Path file = Path.of(library + suffix);
            return Files.exists(file) ? Files.readAllLines(file) : List.of();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the calls of a profiler plug-in in a process. */
    List<String> events(long pid) {
        return lines("." + pid + ".events");
    }
}
