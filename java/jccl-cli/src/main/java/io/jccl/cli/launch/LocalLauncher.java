package io.jccl.cli.launch;

import io.jccl.cli.output.Colour;
import io.jccl.config.LaunchSettings;
import io.jccl.config.ProcessorSet;
import io.jccl.launch.OuterLauncher;
import io.jccl.membership.MemberFile;
import io.jccl.nativelib.NativeAffinity;
import io.jccl.topology.ProcessorGroups;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.ProcessBuilder.Redirect;
import java.math.BigInteger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Starts the ranks of a job as processes of this host, and ends them. When one fails, the launcher ends the others.
 * When this process ends, by a signal (even SIGKILL, see {@link Watchdog}) or otherwise, no rank remains.
 */
public final class LocalLauncher {

    private static final Duration COPY_END = Duration.ofSeconds(2);
    private static final Colour[] COLOURS = {Colour.GREEN, Colour.YELLOW, Colour.GREY};

    private record Exit(int index, int status) {}

    private static final long TICK_MILLIS = 50;

    private final Job job;
    private final Elastic elastic; // null if the job ends when a rank fails
    private final OuterLauncher outer; // null if this launcher starts all ranks of the job
    private final PrintStream out;
    private final PrintStream err;
    private final List<Process> processes = new ArrayList<>();
    private final List<Thread> copiers = new ArrayList<>();
    private final BlockingQueue<Exit> exits = new LinkedBlockingQueue<>();

    /**
     * Creates a launcher that starts all ranks of a job, which ends when one of them fails.
     *
     * @param job the job to start
     * @param out destination of the ranks' standard output if it is prefixed
     * @param err destination of the ranks' standard error if it is prefixed, and of the launcher's own messages
     */
    public LocalLauncher(Job job, PrintStream out, PrintStream err) {
        this(job, null, null, out, err);
    }

    /**
     * Creates a launcher of a job that continues when processes fail.
     *
     * @param elastic rules by which the job continues; null if the job ends when a process fails
     */
    public LocalLauncher(Job job, Elastic elastic, PrintStream out, PrintStream err) {
        this(job, elastic, null, out, err);
    }

    /**
     * Creates a launcher of this host's part of a job of several hosts.
     *
     * @param outer the launcher that has started this command on each of the hosts
     */
    public LocalLauncher(Job job, OuterLauncher outer, PrintStream out, PrintStream err) {
        this(job, null, outer, out, err);
    }

    private LocalLauncher(Job job, Elastic elastic, OuterLauncher outer, PrintStream out, PrintStream err) {
        this.job = job;
        this.elastic = elastic;
        this.outer = outer;
        this.out = out;
        this.err = err;
    }

    /**
     * Runs the job to its end.
     *
     * @throws IOException if the program cannot be started; ranks that were started are ended
     */
    public Outcome run() throws IOException, InterruptedException {
        JobDirectory directory = JobDirectory.create(job.grace());
        Thread reaper = new Thread(() -> end(directory), "jccl-launch-reaper");
        Runtime.getRuntime().addShutdownHook(reaper);
        try {
            for (int index = 0; index < job.ranks(); index++) {
                start(index, false, directory);
            }
            return elastic == null ? await() : awaitElastic(directory);
        } finally {
            end(directory);
            joinCopiers();
            removeHook(reaper);
        }
    }

    private void end(JobDirectory directory) {
        endAll();
        directory.close();
    }

    private OuterLauncher.Place place(int index) {
        return outer == null
                ? new OuterLauncher.Place(index, job.ranks(), index, OptionalInt.of(job.ranks()))
                : outer.place(index, job.ranks());
    }

    /**
     * Starts a process.
     *
     * @param index number of the process among those of this host
     * @param joins true if the process replaces a failed one and joins the remaining ranks
     */
    private void start(int index, boolean joins, JobDirectory directory) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(job.command());
        Map<String, String> environment = builder.environment();
        OuterLauncher.clear(environment);
        environment.putAll(job.environment());
        OuterLauncher.Place place = place(index);
        int rank = place.rank();
        environment.put("JCCL_RANK", Integer.toString(rank));
        environment.put("JCCL_SIZE", Integer.toString(place.size()));
        environment.put("JCCL_LOCAL_RANK", Integer.toString(place.localRank()));
        place.localSize().ifPresent(size -> environment.put("JCCL_LOCAL_SIZE", Integer.toString(size)));
        environment.put("JCCL_RENDEZVOUS", outer == null ? directory.rendezvous() : outer.rendezvous());
        directory.mark(environment);
        if (elastic != null) {
            environment.put(
                    "JCCL_MEMBER_FILE",
                    MemberFile.of(directory.resolve(""), index).toString());
        }
        if (joins) {
            environment.put("JCCL_JOIN", "file:" + directory.resolve(""));
        }
        boolean plain = job.output() == Job.Output.PLAIN || job.output() == Job.Output.FIRST_RANK && index == 0;
        builder.redirectInput(index == 0 ? Redirect.INHERIT : Redirect.from(new File("/dev/null")));
        if (plain) {
            builder.redirectOutput(Redirect.INHERIT).redirectError(Redirect.INHERIT);
        }
        Process process = job.processors().isEmpty()
                ? builder.start()
                : startBound(builder, job.processors().get(index));
        synchronized (processes) {
            processes.add(process);
        }
        directory.started(process);
        process.onExit().thenAccept(ended -> {
            try {
                directory.ended(ended);
            } finally {
                // Also after an exception, because the launcher waits for the exit of each process.
                exits.add(new Exit(index, ended.exitValue()));
            }
        });
        if (job.verbose()) {
            say("rank " + rank + " is process " + process.pid());
        }
        if (!plain) {
            boolean merged = job.output() == Job.Output.FIRST_RANK;
            copy(
                    rank,
                    process.getInputStream(),
                    merged ? err : out,
                    merged ? job.colours().err() : job.colours().out());
            copy(rank, process.getErrorStream(), err, job.colours().err());
        }
    }

    /** Starts a process that is bound to {@code processors}: it inherits the binding of the thread that starts it. */
    private static Process startBound(ProcessBuilder builder, BigInteger processors) throws IOException {
        builder.environment().put(LaunchSettings.CPU_AFFINITY.name(), ProcessorSet.format(processors));
        BigInteger before = ProcessorGroups.ofThisHost().open();
        NativeAffinity.bindThread(processors);
        try {
            return builder.start();
        } finally {
            NativeAffinity.bindThread(before);
        }
    }

    private void copy(int rank, InputStream from, PrintStream to, boolean colour) {
        String prefix = COLOURS[rank % COLOURS.length].paint("[" + rank + "] ", colour);
        copiers.add(new LineCopier(from, to, prefix).start("jccl-launch-output-" + rank));
    }

    private Outcome await() throws InterruptedException {
        Outcome outcome = new Outcome(0, -1);
        long lingerEnd = Long.MAX_VALUE;
        for (int ended = 0; ended < job.ranks(); ended++) {
            Exit exit = outcome.status() == 0 ? exits.take() : pollUntil(lingerEnd);
            if (exit == null) {
                say("ending the other ranks");
                return outcome;
            }
            if (exit.status != 0 && outcome.status() == 0) {
                outcome = new Outcome(exit.status, place(exit.index).rank());
                lingerEnd = System.nanoTime() + job.linger().toNanos();
            }
        }
        return outcome;
    }

    private Outcome awaitElastic(JobDirectory directory) throws IOException, InterruptedException {
        ElasticJob elasticJob = new ElasticJob(
                job.ranks(),
                elastic,
                directory.resolve(""),
                (index, joins) -> start(index, joins, directory),
                this::say);
        while (elasticJob.outcome().isEmpty()) {
            Exit exit = exits.poll(TICK_MILLIS, TimeUnit.MILLISECONDS);
            if (exit != null) {
                elasticJob.ended(exit.index(), exit.status(), System.nanoTime());
            }
            elasticJob.tick(System.nanoTime());
        }
        return elasticJob.outcome().get();
    }

    private Exit pollUntil(long end) throws InterruptedException {
        return exits.poll(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
    }

    /** Sends TERM to every rank and its descendants, and KILL to those that are still alive after the grace. */
    private void endAll() {
        List<ProcessHandle> alive = new ArrayList<>();
        synchronized (processes) {
            for (Process process : processes) {
                if (process.isAlive()) {
                    process.descendants().forEach(alive::add);
                    alive.add(process.toHandle());
                }
            }
        }
        alive.forEach(ProcessHandle::destroy);
        long end = System.nanoTime() + job.grace().toNanos();
        for (ProcessHandle handle : alive) {
            awaitEnd(handle, end);
        }
        alive.stream().filter(ProcessHandle::isAlive).forEach(ProcessHandle::destroyForcibly);
    }

    private static void awaitEnd(ProcessHandle handle, long end) {
        try {
            handle.onExit().get(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
        } catch (java.util.concurrent.TimeoutException | java.util.concurrent.ExecutionException e) {
            // still alive: the caller kills it
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void joinCopiers() throws InterruptedException {
        long end = System.nanoTime() + COPY_END.toNanos();
        for (Thread copier : copiers) {
            copier.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime())));
        }
    }

    private static void removeHook(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // this process is already ending and runs the hook
        }
    }

    private void say(String text) {
        synchronized (err) {
            err.println("jccl: " + text);
            err.flush();
        }
    }
}
