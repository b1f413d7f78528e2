package io.jccl.cli.perf;

import io.jccl.cli.output.OutputFile;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.BiFunction;

/** Writes a line for each row to a file or to standard output. */
final class LineReporter implements Reporter {

    private static final String STANDARD_OUTPUT = "-";

    private final String option;
    private final String file;
    private final OutputStream out;
    private final String header;
    private final BiFunction<PerfRow, RunInfo, String> format;
    private RunInfo run;

    private LineReporter(
            String option,
            String file,
            PrintStream standardOutput,
            String header,
            BiFunction<PerfRow, RunInfo, String> format) {
        this.option = option;
        this.file = file;
        this.header = header;
        this.format = format;
        try {
            this.out = OutputFile.isFile(file) ? Files.newOutputStream(Path.of(file)) : standardOutput;
        } catch (IOException e) {
            throw OutputFile.unwritable(option, file, e);
        }
    }

    /** Creates a reporter that writes JSON, one object a line. */
    static LineReporter json(String file, PrintStream standardOutput) {
        return new LineReporter("json", file, standardOutput, "", (row, run) -> row.toJson(run) + "\n");
    }

    /** Creates a reporter that writes comma-separated values. */
    static LineReporter csv(String file, PrintStream standardOutput) {
        return new LineReporter("csv", file, standardOutput, CsvFormat.header(), CsvFormat::row);
    }

    @Override
    public void begin(PerfOptions options, RunInfo run, int sizes) {
        this.run = run;
        write(header);
    }

    @Override
    public void row(PerfRow row) {
        write(format.apply(row, run));
    }

    private void write(String text) {
        try {
            out.write(text.getBytes(StandardCharsets.UTF_8));
            out.flush();
            if (out instanceof PrintStream print && print.checkError()) {
                throw new IOException("no reader, or no space left");
            }
        } catch (IOException e) {
            throw OutputFile.unwritable(option, file, e);
        }
    }

    @Override
    public void close() {
        if (OutputFile.isFile(file)) {
            try {
                out.close();
            } catch (IOException e) {
                throw OutputFile.unwritable(option, file, e);
            }
        }
    }
}
