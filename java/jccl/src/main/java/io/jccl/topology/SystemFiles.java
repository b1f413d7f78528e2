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
 * Reads the files by which the kernel describes the host, below a root that tests can choose. No method fails: the
 * result is empty if a file is missing, unreadable, a symbolic link loop or not text.
 */
final class SystemFiles {

    private static final int MAX_BYTES = 64 << 10;
    private static final int MAX_ENTRIES = 4096;

    private final Path root;

    SystemFiles(Path root) {
        this.root = root;
    }

    /** Returns the first line of a file without surrounding blanks; empty if there is none. */
    Optional<String> line(String path) {
        List<String> lines = lines(path);
        String first = lines.isEmpty() ? "" : lines.get(0).strip();
        return first.isEmpty() ? Optional.empty() : Optional.of(first);
    }

    /** Returns the lines of a file with control characters replaced; only the beginning of a huge file. */
    List<String> lines(String path) {
        // Reading from a pipe or a device could block.
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

    /** Returns the names in a folder, sorted; empty if the folder cannot be read. */
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

    /** Returns the final target of a link; empty if it is a loop or its target does not exist. */
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
