package io.jccl.cli.output;

import io.jccl.internal.Causes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Files that commands write their results to. */
public final class OutputFile {

    /** What names standard output in the place of a file. */
    public static final String STANDARD_OUTPUT = "-";

    private OutputFile() {}

    /** Whether this names a file, and not standard output. */
    public static boolean isFile(String name) {
        return !name.equals(STANDARD_OUTPUT);
    }

    /**
     * Checks before anything is measured that the result can be written. A file that is there stays as it is.
     *
     * @param option that names the file, without dashes
     * @throws IllegalArgumentException if the file cannot be written
     */
    public static void requireWritable(String option, Path file) {
        Path absolute = file.toAbsolutePath();
        Path directory = absolute.getParent();
        boolean possible = Files.exists(file)
                ? !Files.isDirectory(file) && Files.isWritable(file)
                : directory != null && Files.isDirectory(directory) && Files.isWritable(directory);
        if (!possible) {
            throw new IllegalArgumentException(option + "=" + absolute
                    + ": expected a file that can be written, in a directory that is there; name another with --"
                    + option);
        }
    }

    /** What to throw when writing failed. */
    public static UncheckedIOException unwritable(String option, String file, IOException cause) {
        return new UncheckedIOException(
                option + "=" + file + ": cannot be written (" + Causes.describe(cause) + "); name another with --"
                        + option,
                cause);
    }
}
