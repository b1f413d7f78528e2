package io.jccl.cli.output;

import io.jccl.internal.Causes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Checks the files to which commands write their results. */
public final class OutputFile {

    /** File name that stands for standard output. */
    public static final String STANDARD_OUTPUT = "-";

    private OutputFile() {}

    /** Returns true if the name is that of a file, false if it stands for standard output. */
    public static boolean isFile(String name) {
        return !name.equals(STANDARD_OUTPUT);
    }

    /**
     * Checks, before a measurement begins, that its result can be written. An existing file stays unchanged.
     *
     * @param option name of the option that names the file, without dashes
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

    /** Returns the exception to throw after writing failed. */
    public static UncheckedIOException unwritable(String option, String file, IOException cause) {
        return new UncheckedIOException(
                option + "=" + file + ": cannot be written (" + Causes.describe(cause) + "); name another with --"
                        + option,
                cause);
    }
}
