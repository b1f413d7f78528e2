package io.jccl.cli;

import io.jccl.cli.output.ExitCode;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * Runs command lines of {@code jccl} one after the other in this JVM. {@code scripts/vm/command-lines} uses this class
 * in a virtual machine, where starting a JVM takes longer than most commands. The lines can come through a pipe; each
 * runs as soon as it arrives.
 *
 * <p>Prints {@code == LINE} before each line and {@code == status STATUS after SECONDS s} after it; among ranks of a
 * launcher, only rank 0 prints. Ends with status 1 if any line did not end with status 0.
 */
final class CommandLines {

    private CommandLines() {}

    /** Runs the lines of the file or pipe that the only argument names. */
    public static void main(String[] arguments) throws IOException {
        Locale.setDefault(Locale.ROOT);
        boolean speaks = System.getenv().getOrDefault("JCCL_RANK", "0").equals("0");
        int count = 0;
        int failed = 0;
        try (BufferedReader lines = Files.newBufferedReader(Path.of(arguments[0]))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                print(speaks, "== %s%n", line);
                long start = System.nanoTime();
                int status = Main.commandLine().execute(line.trim().split("\\s+"));
                double seconds = (System.nanoTime() - start) / (double) TimeUnit.SECONDS.toNanos(1);
                print(speaks, "== status %d after %.1f s%n", status, seconds);
                count++;
                failed += status == ExitCode.SUCCESS ? 0 : 1;
            }
        }
        print(speaks, "== %d command lines, %d failed%n", count, failed);
        System.exit(failed == 0 ? ExitCode.SUCCESS : ExitCode.FAILURE);
    }

    private static void print(boolean speaks, String format, Object... values) {
        if (speaks) {
            System.out.printf(Locale.ROOT, format, values);
            System.out.flush();
        }
    }
}
