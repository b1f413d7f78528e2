package io.jccl.cli.tune;

import io.jccl.Communicator;
import io.jccl.UniqueId;
import io.jccl.bootstrap.Launch;
import io.jccl.bootstrap.LauncherEnvironment;
import io.jccl.cli.Main;
import io.jccl.cli.output.Progress;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** What {@code jccl tune} starts as the ranks of a trial: reads the trial, and rank 0 writes the times. */
@Command(name = TrialRankCommand.NAME, hidden = true, description = "a rank of jccl tune")
public final class TrialRankCommand implements Callable<Integer> {

    static final String NAME = "tune-rank";

    @Parameters(index = "0", paramLabel = "TRIAL")
    private Path trialFile;

    @Parameters(index = "1", paramLabel = "TIMES")
    private Path timesFile;

    @Override
    public Integer call() throws IOException, InterruptedException, ExecutionException {
        Trial trial = TrialFiles.read(trialFile, Trial.class);
        int rank = LauncherEnvironment.find(System.getenv()).map(Launch::rank).orElse(0);
        Progress progress = new Progress(System.err, trial.progress() && rank == 0);
        TrialRank mine = new TrialRank(trial, progress);
        List<Times> times = trial.threads()
                ? runThreads(trial, mine)
                : mine.run((index, config) -> Communicator.fromEnvironment(config));
        if (rank == 0) {
            TrialFiles.write(timesFile, times.toArray(Times[]::new));
        }
        return Main.FINE;
    }

    /** The first failure ends the command, and with it the process: the other ranks need not be stopped. */
    private static List<Times> runThreads(Trial trial, TrialRank first)
            throws InterruptedException, ExecutionException {
        List<UniqueId> ids = new ArrayList<>();
        for (int i = 0; i < TrialRank.communicators(trial); i++) {
            ids.add(UniqueId.create());
        }
        ExecutorService threads = Executors.newFixedThreadPool(trial.ranks(), TrialRankCommand::daemon);
        ExecutorCompletionService<List<Times>> ended = new ExecutorCompletionService<>(threads);
        for (int i = 0; i < trial.ranks(); i++) {
            int rank = i;
            TrialRank mine = rank == 0 ? first : new TrialRank(trial, new Progress(System.err, false));
            ended.submit(
                    () -> mine.run((index, config) -> Communicator.init(ids.get(index), rank, trial.ranks(), config)));
        }
        List<Times> times = List.of();
        for (int i = 0; i < trial.ranks(); i++) {
            times = ended.take().get(); // all ranks have the same
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
