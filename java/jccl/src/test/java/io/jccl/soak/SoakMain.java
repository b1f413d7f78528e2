package io.jccl.soak;

import io.jccl.testing.WorkerProcess;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Runs epochs alternately on four ranks that are processes and on four ranks that are threads of one process, and
 * samples the resources of these processes. The process of the last rank can be killed and is not sampled. {@code
 * scripts/check-soak} explains the arguments.
 */
public final class SoakMain {

    private static final int RANKS = 4;
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");

    /** Smallest number of samples that can show growth. A busy host takes longer to collect them. */
    private static final int MIN_SAMPLES = 4;

    private static final Duration EPOCH_LIMIT = Duration.ofMinutes(3);

    /** Time after which what is still held counts as leaked. */
    private static final Duration SETTLING = Duration.ofSeconds(3);

    private static final long SETTLING_STEP_MILLIS = 50;

    /**
     * A fixed heap whose pages are touched at the start, and a fixed number of compiler threads: the JVM itself must
     * not grow.
     */
    private static final List<String> JAVA = List.of(
            "-XX:-UseDynamicNumberOfCompilerThreads",
            "-Xms192m",
            "-Xmx192m",
            "-XX:+AlwaysPreTouch",
            "-XX:MaxDirectMemorySize=256m",
            "-XX:ReservedCodeCacheSize=48m");

    /** Command that makes malloc map large blocks separately, so that direct buffers can be registered. */
    private static final List<String> LARGE_BLOCKS_SEPARATE = List.of("env", "MALLOC_MMAP_THRESHOLD_=1048576");

    private final Path folder;
    private final Path temporary; // temporary folder of the processes, checked for files left behind
    private final long begin = System.nanoTime();
    private final List<WorkerProcess> processes = new ArrayList<>();
    private final Map<String, List<Sample>> samples = new LinkedHashMap<>();
    private final Map<Epoch.End, Integer> ends = new LinkedHashMap<>();
    private WorkerProcess threads;
    private long operations;
    private int started;

    private SoakMain(Path folder) {
        this.folder = folder;
        this.temporary = folder.toAbsolutePath().resolve("temporary");
    }

    /** Arguments: the folder for logs and samples, the time in seconds, and the first seed. */
    public static void main(String[] arguments) throws Exception {
        List<String> leaks = run(Path.of(arguments[0]), Long.parseLong(arguments[1]), Long.parseLong(arguments[2]));
        System.exit(leaks.isEmpty() ? 0 : 1);
    }

    /**
     * Runs epochs and prints the findings.
     *
     * @return the files that are left behind, and the quantities that grow, of those that a run of this length can show
     * @throws IOException if a result was wrong, or a process hung or crashed
     */
    static List<String> run(Path folder, long seconds, long firstSeed) throws IOException, InterruptedException {
        return new SoakMain(folder).run(seconds, firstSeed);
    }

    private List<String> run(long seconds, long firstSeed) throws IOException, InterruptedException {
        Files.createDirectories(temporary);
        List<Path> sharedBefore = jcclFiles(SHARED_MEMORY);
        Random seeds = new Random(firstSeed);
        int epochs = 0;
        try (PrintStream csv =
                new PrintStream(Files.newOutputStream(folder.resolve("samples.csv")), true, StandardCharsets.UTF_8)) {
            csv.println(Sample.HEADER);
            for (int rank = 0; rank < RANKS; rank++) {
                processes.add(start(rank, 1));
            }
            threads = start(0, RANKS);
            long end = begin + TimeUnit.SECONDS.toNanos(seconds);
            long nextSample = begin;
            int taken = 0;
            while (taken < MIN_SAMPLES || System.nanoTime() - end < 0) {
                long seed = seeds.nextLong();
                epoch(seed, processes);
                epoch(seed, List.of(threads));
                epochs += 2;
                if (System.nanoTime() - nextSample >= 0) {
                    nextSample = System.nanoTime() + TimeUnit.SECONDS.toNanos(2);
                    sample(csv);
                    taken++;
                }
            }
        } finally {
            processes.forEach(WorkerProcess::close);
            if (threads != null) {
                threads.close();
            }
        }
        List<String> leaks = new ArrayList<>();
        List<Path> left = leftBehind(sharedBefore);
        left.forEach(file -> leaks.add("left behind: " + file));
        System.out.printf("%d epochs, %d steps, all results right; ends of epochs %s%n", epochs, operations, ends);
        System.out.println("shared memory and temporary files left behind: " + left);
        judge(seconds, leaks);
        return leaks;
    }

    /** Returns the files that stay. Other JVMs, such as those of other tests, have files in shared memory for a moment. */
    private List<Path> leftBehind(List<Path> sharedBefore) throws IOException, InterruptedException {
        List<Path> left = new ArrayList<>(jcclFiles(SHARED_MEMORY));
        left.removeAll(sharedBefore);
        left.addAll(jcclFiles(temporary));
        long until = System.nanoTime() + SETTLING.toNanos();
        while (!left.isEmpty() && System.nanoTime() - until < 0) {
            Thread.sleep(SETTLING_STEP_MILLIS);
            left.removeIf(file -> !Files.exists(file));
        }
        return left;
    }

    private void judge(long seconds, List<String> leaks) {
        for (Map.Entry<String, List<Sample>> one : samples.entrySet()) {
            System.out.println(one.getKey() + ", " + one.getValue().size() + " samples");
            for (Trend trend : Trend.ALL) {
                Trend.Finding finding = trend.of(one.getValue());
                boolean isJudged = seconds >= trend.minSeconds();
                System.out.println("    " + finding.describe(trend) + (isJudged ? "" : "  (the run is too short)"));
                if (isJudged && !finding.isFlat()) {
                    leaks.add(one.getKey() + ": " + finding.describe(trend) + " of samples "
                            + trend.values(one.getValue()));
                }
            }
        }
    }

    private WorkerProcess start(int first, int count) throws IOException {
        List<String> java = new ArrayList<>(JAVA);
        java.addAll(List.of(
                "-Djava.io.tmpdir=" + temporary,
                "-Dlogback.configurationFile=" + WorkerProcess.ONLY_WARNINGS,
                SoakWorker.class.getName(),
                Integer.toString(RANKS),
                Integer.toString(first),
                Integer.toString(count)));
        return new WorkerProcess(LARGE_BLOCKS_SEPARATE, folder.resolve("worker-" + ++started + ".log"), java);
    }

    private void epoch(long seed, List<WorkerProcess> workers) throws IOException, InterruptedException {
        workers.forEach(WorkerProcess::forgetReports);
        String id = workers.get(0).ask("id", "id", EPOCH_LIMIT);
        for (WorkerProcess worker : workers) {
            worker.send("epoch " + seed + " " + id);
        }
        Epoch.End end = Epoch.endOf(seed, workers.size() > 1);
        ends.merge(end, 1, Integer::sum);
        long until = System.nanoTime() + EPOCH_LIMIT.toNanos();
        if (end == Epoch.End.KILL) {
            WorkerProcess last = workers.get(RANKS - 1);
            require(last, last.await(until, "dying"), seed);
            last.close();
        }
        for (WorkerProcess worker : workers) {
            if (worker.isAlive()) {
                operations += Long.parseLong(require(worker, worker.await(until, "end ", "wrong "), seed));
            }
        }
        if (end == Epoch.End.KILL) {
            processes.set(RANKS - 1, start(RANKS - 1, 1));
        }
    }

    /**
     * Returns the text of a report after its first word; throws if the report is missing or tells of a wrong result.
     */
    private static String require(WorkerProcess worker, WorkerProcess.Report report, long seed)
            throws IOException, InterruptedException {
        if (report == null) {
            if (worker.isAlive()) {
                worker.signal("QUIT"); // prints the stacks of its threads
                worker.await(System.nanoTime() + TimeUnit.SECONDS.toNanos(1), "never ");
            }
            throw new IOException("epoch " + seed + ": process " + worker.pid()
                    + (worker.isAlive() ? " has not ended it in time" : " has crashed") + "; its log has its threads");
        }
        if (report.text().startsWith("wrong ")) {
            throw new IOException("epoch " + seed + ": " + report.text().replace('|', '\n'));
        }
        return report.text().substring(report.text().indexOf(' ') + 1);
    }

    private void sample(PrintStream csv) throws IOException, InterruptedException {
        for (int rank = 0; rank < RANKS - 1; rank++) {
            sample(csv, "rank " + rank, processes.get(rank));
        }
        sample(csv, "four threads", threads);
    }

    private void sample(PrintStream csv, String name, WorkerProcess worker) throws IOException, InterruptedException {
        worker.forgetReports();
        worker.send("gc"); // frees direct buffers and host buffers that are not reachable
        require(worker, worker.await(System.nanoTime() + EPOCH_LIMIT.toNanos(), "collected "), 0);
        List<Sample> earlier = samples.computeIfAbsent(name, key -> new ArrayList<>());
        Sample sample = settled(name, worker, earlier);
        earlier.add(sample);
        csv.println(sample.toCsv());
    }

    /**
     * Returns a sample that holds no more threads and descriptors than the previous one, if there is one soon: the
     * coordinator of a communicator ends a moment after the last {@code close}.
     */
    private Sample settled(String name, WorkerProcess worker, List<Sample> earlier)
            throws IOException, InterruptedException {
        long until = System.nanoTime() + SETTLING.toNanos();
        while (true) {
            Sample sample = Sample.of(name, worker.pid(), (System.nanoTime() - begin) / 1e9);
            if (earlier.isEmpty()
                    || !sample.holdsMoreThan(earlier.get(earlier.size() - 1))
                    || System.nanoTime() - until >= 0) {
                return sample;
            }
            Thread.sleep(SETTLING_STEP_MILLIS);
        }
    }

    private static List<Path> jcclFiles(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.getFileName().toString().matches("(lib)?jccl.*"))
                    .toList();
        }
    }
}
