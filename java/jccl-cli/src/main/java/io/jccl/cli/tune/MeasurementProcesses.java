package io.jccl.cli.tune;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.jccl.JcclException;
import io.jccl.cli.launch.JobDirectory;
import io.jccl.cli.output.ExitCode;
import io.jccl.cli.perf.RankProcesses;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * Executes runs in processes of their own. One file tells the processes what to do, and another contains the times that
 * they have measured.
 */
final class MeasurementProcesses implements MeasurementRunner {

    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final int BUFFERS = 4; // send and receive buffers, each as direct and as shared memory

    private final PrintStream out;
    private final PrintStream err;

    /**
     * @param out receives what the processes print to standard output
     * @param err receives what they print to standard error
     */
    MeasurementProcesses(PrintStream out, PrintStream err) {
        this.out = out;
        this.err = err;
    }

    static <T> T read(Path file, Class<T> type) throws IOException {
        return MAPPER.readValue(file.toFile(), type);
    }

    static void write(Path file, Object value) throws IOException {
        MAPPER.writeValue(file.toFile(), value);
    }

    /** @throws JcclException if a rank failed, which has printed the reason */
    @Override
    public List<Times> run(MeasurementRun run) throws IOException, InterruptedException {
        try (JobDirectory directory = JobDirectory.create(Duration.ZERO)) {
            Path runFile = directory.resolve("run.json");
            Path timesFile = directory.resolve("times.json");
            write(runFile, run);
            List<Long> sizes = run.sizes();
            int threads = run.threads() ? run.ranks() : 1;
            long bytes = sizes.get(sizes.size() - 1) * BUFFERS * threads;
            int status = new RankProcesses(
                            "jccl tune",
                            new RankProcesses.Buffers(bytes, false),
                            run.ranks() / threads,
                            List.of(MeasurementRankCommand.NAME, runFile.toString(), timesFile.toString()))
                    .run(out, err);
            if (status != ExitCode.SUCCESS) {
                throw new JcclException("measurement=\"" + run.title() + "\" status=" + status
                        + ": a rank failed, its message is above; leave the transport out with --transport, or see what"
                        + " `jccl doctor` says");
            }
            return List.of(read(timesFile, Times[].class));
        }
    }
}
