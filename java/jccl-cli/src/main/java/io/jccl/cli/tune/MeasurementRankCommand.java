package io.jccl.cli.tune;

import io.jccl.Communicator;
import io.jccl.UniqueId;
import io.jccl.cli.output.ExitCode;
import io.jccl.cli.output.Progress;
import io.jccl.launch.Launch;
import io.jccl.launch.LauncherEnvironment;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/**
 * The hidden subcommand that {@code jccl tune} starts as each rank: executes a run, of which rank 0 writes the times.
 */
@Command(name = MeasurementRankCommand.NAME, hidden = true, description = "a rank of jccl tune")
public final class MeasurementRankCommand implements Callable<Integer> {

    static final String NAME = "tune-rank";

    @Parameters(index = "0", paramLabel = "RUN")
    private Path runFile;

    @Parameters(index = "1", paramLabel = "TIMES")
    private Path timesFile;

    @Override
    public Integer call() throws IOException, InterruptedException, ExecutionException {
        MeasurementRun run = MeasurementProcesses.read(runFile, MeasurementRun.class);
        int rank = LauncherEnvironment.find(System.getenv()).map(Launch::rank).orElse(0);
        Progress progress = new Progress(System.err, run.progress() && rank == 0);
        List<Times> times = run.threads()
                ? runThreads(run, progress)
                : new MeasurementRank(run, progress, (index, config) -> Communicator.fromEnvironment(config)).run();
        if (rank == 0) {
            MeasurementProcesses.write(timesFile, times.toArray(Times[]::new));
        }
        return ExitCode.SUCCESS;
    }

    /**
     * Runs the ranks as threads. The first failure ends the command and with it the process, so the other ranks need
     * not be stopped.
     */
    private static List<Times> runThreads(MeasurementRun run, Progress progress)
            throws InterruptedException, ExecutionException {
        Map<Integer, UniqueId> ids = new ConcurrentHashMap<>();
        ExecutorService threads = Executors.newFixedThreadPool(run.ranks(), MeasurementRankCommand::daemon);
        ExecutorCompletionService<List<Times>> ended = new ExecutorCompletionService<>(threads);
        for (int i = 0; i < run.ranks(); i++) {
            int rank = i;
            Progress shown = rank == 0 ? progress : new Progress(System.err, false);
            ended.submit(() -> new MeasurementRank(run, shown, (index, config) -> {
                        UniqueId id = ids.computeIfAbsent(index, any -> UniqueId.create());
                        return Communicator.init(id, rank, run.ranks(), config);
                    })
                    .run());
        }
        List<Times> times = List.of();
        for (int i = 0; i < run.ranks(); i++) {
            times = ended.take().get(); // equal on all ranks
        }
        threads.shutdown();
        return times;
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "tune-rank");
        thread.setDaemon(true);
        return thread;
    }
}
