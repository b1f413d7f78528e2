package io.jccl.topology;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/**
 * Reads the files by which the kernel describes the host, below a root that tests can choose. Nothing here fails:
 * what is missing, unreadable, a loop or not text comes back empty.
 */
final class SystemFiles {

    private static final int MAX_BYTES = 64 << 10;
    private static final int MAX_ENTRIES = 4096;

    private final Path root;

    SystemFiles(Path root) {
        this.root = root;
    }

    /** The first line of a file without blanks round it; empty where there is none. */
    Optional<String> line(String path) {
        List<String> lines = lines(path);
        String first = lines.isEmpty() ? "" : lines.get(0).strip();
        return first.isEmpty() ? Optional.empty() : Optional.of(first);
    }

    /** The lines of a file with control characters replaced; of a huge file the beginning. */
    List<String> lines(String path) {
        // A pipe or a device would let its reader wait.
        if (!Files.isRegularFile(resolve(path))) {
            return List.of();
        }
        try (InputStream in = Files.newInputStream(resolve(path))) {
            String text = new String(in.readNBytes(MAX_BYTES), StandardCharsets.UTF_8);
            List<String> lines = new ArrayList<>();
            for (String line : text.lines().toList()) {
                lines.add(Ascii.printable(line, true));
            }
            return lines;
        } catch (IOException | SecurityException | UncheckedIOException e) {
            return List.of();
        }
    }

    /** The names in a folder, sorted. */
    List<String> names(String path) {
        List<String> names = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(resolve(path))) {
            for (Path entry : entries) {
                if (names.size() < MAX_ENTRIES) {
                    names.add(entry.getFileName().toString());
                }
            }
        } catch (IOException | SecurityException | DirectoryIteratorException e) {
            return List.of();
        }
        Collections.sort(names);
        return names;
    }

    /** Where a link leads in the end, as text; empty for loops and for links into nothing. */
    Optional<String> realPath(String path) {
        try {
            return Optional.of(resolve(path).toRealPath().toString());
        } catch (IOException | SecurityException e) {
            return Optional.empty();
        }
    }

    private Path resolve(String path) {
        return root.resolve(path);
    }
}
