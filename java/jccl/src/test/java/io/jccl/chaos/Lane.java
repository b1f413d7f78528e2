package io.jccl.chaos;

import io.jccl.integration.SimulatedHosts;
import io.jccl.testing.WorkerProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Runs rounds of chaos one after the other. The next round reuses a worker unless it was killed or still holds
 * resources of a round. Rounds with a partition use separate workers, each on a simulated host.
 */
final class Lane implements AutoCloseable {

    /** Starts a worker through a command, which gives it a file system of its own or places it on a simulated host. */
    interface Starter {
        WorkerProcess start(List<String> inside) throws IOException;
    }

    private static final Duration START_LIMIT = Duration.ofSeconds(60);

    /** Command that gives a process its own small file system for shared memory and temporary files. */
    private static final List<String> SMALL_FILE_SYSTEM = List.of(
            "unshare",
            "--mount",
            "sh",
            "-c",
            "mount -t tmpfs -o size=16m tmpfs " + Worker.SMALL + " && exec \"$@\"",
            "sh");

    /**
     * Limit of the size of files. It leaves room for the JVM's own files and is less than any segment of shared memory.
     */
    private static final String MAX_FILE_BYTES = "--fsize=4096:";

    private static final String UNLIMITED_FILE_BYTES = "--fsize=unlimited:";

    private static final String OPEN_FILES = "Max open files";

    private final Starter starter;
    private final Duration limit;
    private final int slowness;
    private final List<WorkerProcess> plain = new ArrayList<>();
    private final List<WorkerProcess> onHosts = new ArrayList<>();
    private SimulatedHosts hosts;

    /**
     * Creates a lane without workers.
     *
     * @param limit time within which the remaining ranks must end after the fault
     * @param slowness factor by which this host is slower than usual
     */
    Lane(Starter starter, Duration limit, int slowness) {
        this.starter = starter;
        this.limit = limit;
        this.slowness = slowness;
    }

    /** Runs a round to its end. */
    RoundLog run(Round round) throws IOException, InterruptedException {
        List<WorkerProcess> all = workers(round);
        List<WorkerProcess> ranks = all.subList(0, round.processes());
        List<String> troubles = new ArrayList<>();
        ranks.forEach(WorkerProcess::forgetReports);
        String id = ranks.get(0).ask("id", "id", START_LIMIT);
        for (int rank = 0; rank < round.size(); rank++) {
            ranks.get(rank).send("round " + round.seed() + " " + rank + " " + id);
        }
        if (round.phase() == Phase.REFORM) {
            WorkerProcess.Report members = ranks.get(0).await(System.nanoTime() + limit.toNanos(), "members ", "end ");
            ranks.get(round.size())
                    .send("join " + round.seed() + " " + round.size() + " " + id + " "
                            + (members == null ? "none" : members.text().split(" ")[1]));
        }
        long struck = strikeAll(round, ranks, troubles);
        long end = System.nanoTime() + limit.toNanos();
        for (int rank = 0; rank < ranks.size(); rank++) {
            if (!round.victims().contains(rank)) {
                await(ranks.get(rank), rank, end, troubles, "end ", "on ");
            }
        }
        undo(round, ranks);
        end = System.nanoTime() + limit.toNanos();
        for (int victim : round.victims()) {
            if (round.fault() != Fault.KILL) {
                await(ranks.get(victim), victim, end, troubles, "end ", "on ");
            }
        }
        end = System.nanoTime() + limit.toNanos();
        for (WorkerProcess worker : ranks) {
            if (worker.isAlive()) {
                worker.send("release");
            }
        }
        for (int rank = 0; rank < ranks.size(); rank++) {
            if (ranks.get(rank).isAlive()) {
                await(ranks.get(rank), rank, end, troubles, "end ");
            }
        }
        List<List<WorkerProcess.Report>> reports =
                ranks.stream().map(WorkerProcess::reports).toList();
        Map<Integer, String> held = held(ranks);
        replace(all, held, troubles);
        return new RoundLog(round, struck, reports, held, troubles);
    }

    private List<WorkerProcess> workers(Round round) throws IOException, InterruptedException {
        boolean needsHosts = round.fault().isPartition();
        if (needsHosts && hosts == null) {
            hosts = SimulatedHosts.start("--machines", Integer.toString(Worker.MAX_RANKS), "--family", "4");
        }
        List<WorkerProcess> all = needsHosts ? onHosts : plain;
        List<WorkerProcess> started = new ArrayList<>();
        for (int i = 0; i < round.processes(); i++) {
            if (i == all.size()) {
                all.add(null);
            }
            if (all.get(i) == null) {
                all.set(i, starter.start(needsHosts ? hosts.inside(i, i, Worker.MAX_RANKS) : SMALL_FILE_SYSTEM));
                started.add(all.get(i));
            }
        }
        long until = System.nanoTime() + START_LIMIT.multipliedBy(slowness).toNanos();
        for (WorkerProcess one : started) {
            if (one.await(until, "ready") == null) {
                throw new IOException("worker " + one.pid() + " has not started; its log says why");
            }
        }
        return all;
    }

    /** Strikes the victims. Returns the time at which the first one was struck, in nanoseconds, or 0 if none was. */
    private long strikeAll(Round round, List<WorkerProcess> ranks, List<String> troubles)
            throws IOException, InterruptedException {
        long first = 0;
        for (int victim : round.victims()) {
            WorkerProcess worker = ranks.get(victim);
            boolean isSecond = first != 0 && round.staggered();
            String sign = isSecond ? "failed " : "at " + round.phase();
            if (worker.await(System.nanoTime() + limit.toNanos(), sign) == null) {
                troubles.add("rank " + victim + " has not reported \"" + sign + "\"");
                continue;
            }
            new CountDownLatch(1).await(round.delayMicros(), TimeUnit.MICROSECONDS);
            long now = System.nanoTime();
            strike(round, victim, worker);
            first = first == 0 ? now : first;
        }
        if (round.fault() == Fault.STOP_BRIEFLY || round.fault() == Fault.PARTITION_BRIEFLY) {
            new CountDownLatch(1).await(round.amount(), TimeUnit.MILLISECONDS);
            undo(round, ranks);
        }
        return first;
    }

    private void strike(Round round, int victim, WorkerProcess worker) throws IOException, InterruptedException {
        switch (round.fault()) {
            case KILL -> worker.close();
            case STOP, STOP_BRIEFLY -> worker.signal("STOP");
            case PARTITION, PARTITION_BRIEFLY -> hosts.linkDown(victim);
            case NO_DESCRIPTORS -> worker.limit("--nofile=" + (worker.descriptors() + round.amount()) + ":");
            case NO_SPACE -> {
                worker.send("fill");
                worker.await(System.nanoTime() + START_LIMIT.toNanos(), "filled");
                worker.limit(MAX_FILE_BYTES);
            }
            case SLOW, ABSENT -> {} // the victim delays itself, in RankRound
        }
    }

    private void undo(Round round, List<WorkerProcess> ranks) throws IOException, InterruptedException {
        SortedSet<Integer> victims = round.victims();
        for (int victim : victims) {
            WorkerProcess worker = ranks.get(victim);
            switch (round.fault()) {
                case STOP, STOP_BRIEFLY -> worker.signal("CONT");
                case PARTITION, PARTITION_BRIEFLY -> hosts.linkUp(victim);
                case NO_DESCRIPTORS -> worker.limit("--nofile=" + maxDescriptors() + ":");
                case NO_SPACE -> {
                    worker.limit(UNLIMITED_FILE_BYTES);
                    worker.send("free");
                }
                case KILL, SLOW, ABSENT -> {} // nothing to undo
            }
        }
    }

    /**
     * Returns this process's limit of open files, which its workers inherit. The JVM has raised it to the hard limit.
     */
    private static String maxDescriptors() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/limits"))) {
            if (line.startsWith(OPEN_FILES)) {
                return line.substring(OPEN_FILES.length()).strip().split(" ")[0];
            }
        }
        throw new IOException("/proc/self/limits has no line \"" + OPEN_FILES + "\"");
    }

    private static void await(WorkerProcess worker, int rank, long until, List<String> troubles, String... reports)
            throws IOException, InterruptedException {
        if (worker.await(until, reports) == null) {
            troubles.add("rank " + rank + (worker.isAlive() ? " has not ended in time" : " has crashed"));
            if (worker.isAlive()) {
                worker.signal("QUIT"); // prints the stacks of its threads
                new CountDownLatch(1).await(500, TimeUnit.MILLISECONDS);
            }
        }
    }

    private Map<Integer, String> held(List<WorkerProcess> ranks) throws IOException, InterruptedException {
        List<Integer> asked = new ArrayList<>();
        for (int rank = 0; rank < ranks.size(); rank++) {
            if (ranks.get(rank).isAlive()) {
                ranks.get(rank).send("holds");
                asked.add(rank);
            }
        }
        Map<Integer, String> held = new TreeMap<>();
        for (int rank : asked) {
            WorkerProcess.Report report = ranks.get(rank).await(System.nanoTime() + START_LIMIT.toNanos(), "holds ");
            String text = report == null ? "no answer" : report.text().substring("holds ".length());
            if (!text.equals("{}")) {
                held.put(rank, text);
            }
        }
        return held;
    }

    /** Removes workers that cannot be reused, so that the next round starts others. */
    private static void replace(List<WorkerProcess> all, Map<Integer, String> held, List<String> troubles) {
        for (int rank = 0; rank < all.size(); rank++) {
            WorkerProcess worker = all.get(rank);
            if (worker != null && (!worker.isAlive() || held.containsKey(rank) || !troubles.isEmpty())) {
                worker.close();
                all.set(rank, null);
            }
        }
    }

    @Override
    public void close() {
        for (List<WorkerProcess> workers : List.of(plain, onHosts)) {
            for (WorkerProcess worker : workers) {
                if (worker != null) {
                    worker.close();
                }
            }
        }
        if (hosts != null) {
            hosts.close();
        }
    }
}
