package io.jccl.chaos;

import io.jccl.TransportKind;
import io.jccl.integration.SimulatedHosts;
import io.jccl.testing.Resources;
import io.jccl.testing.WorkerProcess;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.jar.JarOutputStream;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import java.util.zip.Deflater;
import java.util.zip.ZipEntry;

/** Runs rounds of chaos and prints how they ended. {@code scripts/check-chaos} explains the arguments. */
public final class ChaosMain {

    /** Factor by which this host is slower than usual: the CPU of scripts/rdma-vm is emulated. */
    private static final int SLOWNESS = Resources.IN_RDMA_VM ? 6 : 1;

    private static final Duration ROUND_LIMIT = Duration.ofSeconds(40L * SLOWNESS);

    private final List<TransportKind> transports;
    private final Path folder;
    private final boolean isVerbose;
    private final ChaosTable table = new ChaosTable();
    private final AtomicInteger started = new AtomicInteger();
    private final String classPath;

    private ChaosMain(List<TransportKind> transports, Path folder, boolean isVerbose) throws IOException {
        this.transports = transports;
        this.folder = folder;
        this.isVerbose = isVerbose;
        Files.createDirectories(folder);
        this.classPath = jars(folder);
    }

    /**
     * Arguments: the folder for logs, the first seed, the number of seeds, transports separated by commas, the number
     * of lanes.
     */
    public static void main(String[] arguments) throws Exception {
        long first = Long.parseLong(arguments[1]);
        int count = Integer.parseInt(arguments[2]);
        List<TransportKind> transports =
                Stream.of(arguments[3].split(",")).map(TransportKind::parse).toList();
        ChaosTable table = run(
                LongStream.range(first, first + count),
                transports,
                Path.of(arguments[0]),
                Math.min(count, Integer.parseInt(arguments[4])),
                count == 1);
        System.out.print(table.describe());
        System.exit(table.hasFailed() ? 1 : 0);
    }

    /**
     * Runs one round for each seed and prints how each ended.
     *
     * @param folder folder for the output of the ranks
     * @param lanes number of rounds that run at the same time
     * @param isVerbose whether to print all reports of the ranks, even if a round ends well
     */
    static ChaosTable run(LongStream seeds, List<TransportKind> transports, Path folder, int lanes, boolean isVerbose)
            throws IOException, InterruptedException {
        ChaosMain chaos = new ChaosMain(transports, folder, isVerbose);
        chaos.run(seeds, lanes);
        return chaos.table;
    }

    private void run(LongStream seeds, int lanes) throws InterruptedException {
        boolean hasHosts = transports.stream().anyMatch(Round::joinsHosts)
                && SimulatedHosts.reasonUnavailable()
                        .map(reason -> {
                            System.out.println("left out: partitions, because " + reason);
                            return false;
                        })
                        .orElse(true);
        Queue<Round> rounds = seeds.mapToObj(seed -> Round.of(seed, transports, SLOWNESS))
                .filter(round -> hasHosts || !round.fault().isPartition())
                .collect(Collectors.toCollection(ConcurrentLinkedQueue::new));
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < lanes; i++) {
            Thread thread = new Thread(() -> runLane(rounds), "chaos-lane-" + i);
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private void runLane(Queue<Round> rounds) {
        Judge judge = new Judge(SLOWNESS);
        Lane lane = newLane();
        for (Round round = rounds.poll(); round != null; round = rounds.poll()) {
            try {
                RoundLog log = lane.run(round);
                Judge.Decision decision = judge.decide(log);
                table.add(round, decision);
                print(log, decision);
            } catch (IOException e) {
                table.add(round, new Judge.Decision(Judge.Outcome.FAILED, List.of(e.toString()), Double.NaN));
                System.out.println("FAILED " + round + ": " + e);
                lane.close();
                lane = newLane();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                break;
            }
        }
        lane.close();
    }

    private Lane newLane() {
        return new Lane(this::start, ROUND_LIMIT, SLOWNESS);
    }

    private WorkerProcess start(List<String> inside) throws IOException {
        String names = transports.stream().map(TransportKind::label).collect(Collectors.joining(","));
        Path log = folder.resolve("worker-" + started.incrementAndGet() + ".log");
        return new WorkerProcess(
                inside,
                log,
                List.of(
                        "-Xmx128m",
                        "-Djava.io.tmpdir=" + Worker.SMALL,
                        "-cp",
                        classPath,
                        Worker.class.getName(),
                        names,
                        Integer.toString(SLOWNESS)));
    }

    private synchronized void print(RoundLog log, Judge.Decision decision) {
        boolean isBad = decision.outcome() == Judge.Outcome.FAILED;
        System.out.printf("%-8s %s noticed=%.2f s%n", decision.outcome(), log.round(), decision.seconds());
        decision.faults().forEach(fault -> System.out.println("    ! " + fault.replace("|", "\n      ")));
        if (isBad || isVerbose) {
            System.out.print(log.describe());
        }
    }

    /** Returns the class path with each folder packed as a jar, so that no class needs its own descriptor. */
    private static String jars(Path folder) throws IOException {
        List<String> jars = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            Path path = Path.of(entry).toAbsolutePath();
            jars.add((Files.isDirectory(path) ? jar(path, folder.resolve("classes-" + jars.size() + ".jar")) : path)
                    .toString());
        }
        return String.join(File.pathSeparator, jars);
    }

    private static Path jar(Path classes, Path jar) throws IOException {
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar));
                Stream<Path> files = Files.walk(classes)) {
            out.setLevel(Deflater.NO_COMPRESSION); // the jar is read only once, so compression would not pay
            Queue<Path> all = files.filter(Files::isRegularFile).collect(Collectors.toCollection(ArrayDeque::new));
            for (Path file : all) {
                out.putNextEntry(new ZipEntry(classes.relativize(file).toString()));
                Files.copy(file, out);
                out.closeEntry();
            }
        }
        return jar.toAbsolutePath();
    }
}
