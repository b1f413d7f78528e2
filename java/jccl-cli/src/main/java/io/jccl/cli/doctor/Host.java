package io.jccl.cli.doctor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The host under examination. Checks read it through its file system, so that tests can present another host.
 *
 * @param root root directory of the host's file system
 * @param environment environment variables of the process
 * @param cores number of processors that this process may use
 * @param ranks number of ranks that are to run on this host
 */
record Host(Path root, Map<String, String> environment, int cores, int ranks) {

    private static final List<String> LIBRARY_DIRECTORIES = List.of(
            "/usr/lib/x86_64-linux-gnu",
            "/lib/x86_64-linux-gnu",
            "/usr/lib64",
            "/lib64",
            "/usr/lib",
            "/usr/local/lib",
            "/usr/local/cuda/lib64",
            "/usr/local/nvidia/lib64");

    /** Returns the host of this process; {@code ranks} 0 stands for as many ranks as cores. */
    static Host here(int ranks) {
        int cores = Runtime.getRuntime().availableProcessors();
        return new Host(Path.of("/"), System.getenv(), cores, ranks == 0 ? cores : ranks);
    }

    /** Returns a file's content without surrounding white space; empty if the file cannot be read. */
    Optional<String> read(String path) {
        try {
            return Optional.of(Files.readString(at(path)).trim());
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    boolean exists(String path) {
        return Files.exists(at(path));
    }

    Path at(String path) {
        return root.resolve(path.substring(1));
    }

    /**
     * Returns the path at which the loader would find a library: searches LD_LIBRARY_PATH, then the usual directories.
     */
    Optional<String> library(String name) {
        String path = environment.getOrDefault("LD_LIBRARY_PATH", "");
        return Stream.concat(
                        Stream.of(path.split(":")).filter(dir -> dir.startsWith("/")), LIBRARY_DIRECTORIES.stream())
                .map(directory -> directory + "/" + name)
                .filter(this::exists)
                .findFirst();
    }

    /** Returns the names in a directory, sorted; none if there is no such directory. */
    List<String> list(String path) {
        try (Stream<Path> entries = Files.list(at(path))) {
            return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
        } catch (IOException e) {
            return List.of();
        }
    }

    /**
     * Returns a soft limit of this process from {@code /proc/self/limits}: {@link Long#MAX_VALUE} if unlimited, empty
     * if it is not visible.
     */
    OptionalLong softLimit(String name) {
        Matcher matcher = Pattern.compile(Pattern.quote(name) + "\\s+(\\d+|unlimited)")
                .matcher(read("/proc/self/limits").orElse(""));
        if (!matcher.find()) {
            return OptionalLong.empty();
        }
        String value = matcher.group(1);
        return OptionalLong.of(value.equals("unlimited") ? Long.MAX_VALUE : Long.parseLong(value));
    }

    /**
     * Returns the first whole number after a label in a file of {@code label: number} lines; empty if there is none.
     */
    OptionalLong field(String path, String label) {
        Matcher matcher = Pattern.compile("(?m)^" + Pattern.quote(label) + "\\D*(\\d+)")
                .matcher(read(path).orElse(""));
        return matcher.find() ? OptionalLong.of(Long.parseLong(matcher.group(1))) : OptionalLong.empty();
    }
}
