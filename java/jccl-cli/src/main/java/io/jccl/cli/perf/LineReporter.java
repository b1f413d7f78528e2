package io.jccl.cli.perf;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.BiFunction;

/** Writes a line for each row to a file or to standard output. */
final class LineReporter implements Reporter {

    private static final String STANDARD_OUTPUT = "-";

    private final PrintStream out;
    private final boolean ownsOut;
    private final String header;
    private final BiFunction<PerfRow, RunInfo, String> format;
    private RunInfo run;

    private LineReporter(
            String option,
            String file,
            PrintStream standardOutput,
            String header,
            BiFunction<PerfRow, RunInfo, String> format) {
        this.ownsOut = !file.equals(STANDARD_OUTPUT);
        this.out = ownsOut ? open(option, file) : standardOutput;
        this.header = header;
        this.format = format;
    }

    /**
     * JSON, one object a line.
     *
     * @throws IllegalArgumentException if the file cannot be written
     */
    static LineReporter json(String file, PrintStream standardOutput) {
        return new LineReporter("json", file, standardOutput, "", (row, run) -> row.toJson(run) + "\n");
    }

    /**
     * Comma-separated values.
     *
     * @throws IllegalArgumentException if the file cannot be written
     */
    static LineReporter csv(String file, PrintStream standardOutput) {
        return new LineReporter("csv", file, standardOutput, CsvFormat.header(), CsvFormat::row);
    }

    private static PrintStream open(String option, String file) {
        try {
            return new PrintStream(Files.newOutputStream(Path.of(file)), false, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    option + "=" + file + ": cannot be written (" + e + "); name a file in a writable directory, or -",
                    e);
        }
    }

    @Override
    public void begin(PerfOptions options, RunInfo run, int sizes) {
        this.run = run;
        out.print(header);
        out.flush();
    }

    @Override
    public void row(PerfRow row) {
        out.print(format.apply(row, run));
        out.flush();
    }

    @Override
    public void close() {
        if (ownsOut) {
            out.close();
        }
    }
}
