package io.jccl.cli.tune;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.jccl.JcclException;
import io.jccl.cli.Main;
import io.jccl.cli.launch.JobDirectory;
import io.jccl.cli.perf.RankProcesses;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** Runs trials in processes of their own; what they are to do and what they found goes through files. */
final class TrialFiles {

    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final int BUFFERS = 4; // send and receive, direct and shared

    private TrialFiles() {}

    static <T> T read(Path file, Class<T> type) throws IOException {
        return MAPPER.readValue(file.toFile(), type);
    }

    static void write(Path file, Object value) throws IOException {
        MAPPER.writeValue(file.toFile(), value);
    }

    /**
     * Runs a trial to its end.
     *
     * @throws JcclException if a rank failed; it has said why
     */
    static List<Times> run(Trial trial, PrintStream out, PrintStream err) throws IOException, InterruptedException {
        try (JobDirectory directory = JobDirectory.create(Duration.ZERO)) {
            Path trialFile = directory.resolve("trial.json");
            Path timesFile = directory.resolve("times.json");
            write(trialFile, trial);
            List<Long> sizes = trial.sizes();
            int threads = trial.threads() ? trial.ranks() : 1;
            long bytes = sizes.get(sizes.size() - 1) * BUFFERS * threads;
            int status = new RankProcesses(
                            "jccl tune",
                            new RankProcesses.Buffers(bytes, false),
                            trial.ranks() / threads,
                            List.of(TrialRankCommand.NAME, trialFile.toString(), timesFile.toString()))
                    .run(out, err);
            if (status != Main.FINE) {
                throw new JcclException("trial=\"" + trial.title() + "\" status=" + status
                        + ": a rank failed, its words are above; leave the transport out with --transport, or see what"
                        + " `jccl doctor` says");
            }
            return List.of(read(timesFile, Times[].class));
        }
    }
}
