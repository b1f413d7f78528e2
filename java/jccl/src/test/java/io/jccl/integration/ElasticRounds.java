package io.jccl.integration;

import io.jccl.UniqueId;
import io.jccl.testing.JavaCommand;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;

/**
 * Rounds in which a rank is killed, the survivors continue, and a new process takes its place. Ranks are
 * {@link ElasticRank}s. In every fifth round the leading rank is killed as well, while the survivors wait for the
 * process that replaces the first victim. Every rank checks all results. At the end of each round all ranks must be in
 * one communicator.
 */
final class ElasticRounds implements AutoCloseable {

    /** Time limit in ns of everything that a round waits for; ranks that take longer hang. */
    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(60L * LocalRanks.SLOWNESS);

    private static final int LEADER_KILL_INTERVAL = 5;
    private static final Pattern RIGHT =
            Pattern.compile("RIGHT generation=(\\d+) rank=(\\d+) size=(\\d+) id=(\\S+)\\.(?=\\s)");
    private static final Pattern SHRUNK = Pattern.compile("SHRUNK generation=(\\d+) .* ms=(\\d+)");
    private static final Pattern GROWN = Pattern.compile("GROWN generation=(\\d+) .* ms=(\\d+)");

    /**
     * The times of a round in milliseconds.
     *
     * @param victims the ranks that were killed
     * @param shrink the longest call that excluded them
     * @param grow the longest call that admitted new processes, which includes the wait for them
     * @param total from the last kill to correct results of all ranks
     * @param descriptors the largest number of descriptors that a rank has open afterwards
     */
    record Times(
            int round, List<Integer> victims, int generation, long shrink, long grow, long total, int descriptors) {

        /**
         * Returns true if a call took longer than {@code limit} ms. With two victims the time to grow is ignored,
         * because it includes the start of the new processes.
         */
        boolean isSlow(long limit) {
            return shrink > limit || victims.size() == 1 && grow > limit;
        }
    }

    private record Rank(Process process, Path output) {

        String text() {
            try {
                return Files.readString(output, StandardCharsets.UTF_8);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private final Path folder;
    private final int size;
    private final String transport;
    private final Random random;
    private final Map<Long, Rank> ranks = new LinkedHashMap<>(); // by process id, including processes that have ended
    private int started;
    private int round;
    private int generation = -1; // of the last communicator that had all ranks

    private ElasticRounds(Path folder, int size, String transport, long seed) {
        this.folder = folder;
        this.size = size;
        this.transport = transport;
        this.random = new Random(seed);
    }

    /**
     * Starts the ranks.
     *
     * @param transport a value of {@code JCCL_TRANSPORT}, or {@code none}
     */
    static ElasticRounds start(Path folder, int size, String transport, long seed) throws Exception {
        ElasticRounds rounds = new ElasticRounds(folder, size, transport, seed);
        try {
            UniqueId id = UniqueId.create();
            for (int rank = 0; rank < size; rank++) {
                rounds.startRank(id.toText(), Integer.toString(rank));
            }
            rounds.awaitWhole(-1);
            return rounds;
        } catch (Throwable e) {
            rounds.close();
            throw e;
        }
    }

    private Rank startRank(String... how) throws IOException {
        Path output = folder.resolve("process" + started++ + ".out");
        List<String> java = new ArrayList<>(
                List.of("-Xmx256m", ElasticRank.class.getName(), folder.toString(), Integer.toString(size), transport));
        java.addAll(List.of(how));
        Process process = new ProcessBuilder(JavaCommand.of(java))
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .redirectInput(new File("/dev/null"))
                .start();
        Rank rank = new Rank(process, output);
        ranks.put(process.pid(), rank);
        return rank;
    }

    /**
     * Kills a rank, and in some rounds also the leading rank, and waits until new processes have taken their places.
     */
    Times round() throws Exception {
        round++;
        Map<Integer, Rank> group = awaitWhole(generation - 1);
        boolean alsoLeader = round % LEADER_KILL_INTERVAL == 0;
        int victim = round % LEADER_KILL_INTERVAL == 1 ? 0 : random.nextInt(size);
        List<Integer> victims = new ArrayList<>(List.of(victim));
        if (!alsoLeader) {
            await(startRank("join"), "JOINING");
        }
        long begin = System.nanoTime();
        group.get(victim).process().destroyForcibly();
        if (alsoLeader) {
            int leader = victim == 0 ? 1 : 0;
            for (Map.Entry<Integer, Rank> one : group.entrySet()) {
                if (one.getKey() != victim) {
                    await(one.getValue(), "GROWING generation=" + (generation + 1));
                }
            }
            begin = System.nanoTime();
            group.get(leader).process().destroyForcibly();
            victims.add(leader);
            for (int i = 0; i < victims.size(); i++) {
                startRank("join");
            }
        }
        int before = generation;
        awaitWhole(before);
        long total = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin);
        victims.forEach(group::remove);
        return new Times(
                round,
                victims,
                generation,
                longest(SHRUNK, before, group),
                longest(GROWN, before, group),
                total,
                descriptors());
    }

    private int descriptors() {
        int most = 0;
        for (Rank rank : living()) {
            String[] open = new File("/proc/" + rank.process().pid() + "/fd").list();
            most = Math.max(most, open == null ? 0 : open.length);
        }
        return most;
    }

    /** Returns the time of the longest call of any survivor that led to a generation later than {@code after}. */
    private static long longest(Pattern call, int after, Map<Integer, Rank> survivors) {
        long longest = 0;
        for (Rank rank : survivors.values()) {
            Matcher lines = call.matcher(rank.text());
            while (lines.find()) {
                if (Integer.parseInt(lines.group(1)) > after) {
                    longest = Math.max(longest, Long.parseLong(lines.group(2)));
                }
            }
        }
        return longest;
    }

    /**
     * Waits until the living processes form one communicator of all ranks, of a generation later than {@code after};
     * returns the processes by rank.
     */
    private Map<Integer, Rank> awaitWhole(int after) throws InterruptedException {
        long deadline = System.nanoTime() + LIMIT_NANOS;
        while (true) {
            Map<Integer, Rank> group = new TreeMap<>();
            Set<String> ids = new HashSet<>();
            int reached = Integer.MAX_VALUE;
            for (Rank rank : living()) {
                Matcher last = last(RIGHT, rank.text());
                if (last != null) {
                    group.put(Integer.parseInt(last.group(2)), rank);
                    ids.add(last.group(4) + " " + last.group(3));
                    reached = Math.min(reached, Integer.parseInt(last.group(1)));
                }
            }
            if (group.size() == size
                    && ids.size() == 1
                    && reached > after
                    && ids.iterator().next().endsWith(" " + size)) {
                generation = reached;
                return group;
            }
            if (System.nanoTime() - deadline > 0 || living().size() < size) {
                throw new AssertionError("round=" + round + " generation=" + generation
                        + ": the ranks did not become whole:" + allOutput());
            }
            Thread.sleep(10);
        }
    }

    private void await(Rank rank, String text) throws InterruptedException {
        long deadline = System.nanoTime() + LIMIT_NANOS;
        while (!rank.text().contains(text)) {
            if (System.nanoTime() - deadline > 0 || !rank.process().isAlive()) {
                throw new AssertionError("round=" + round + ": a rank did not print \"" + text + "\":" + allOutput());
            }
            Thread.sleep(5);
        }
    }

    private static Matcher last(Pattern pattern, String text) {
        Matcher found = null;
        Matcher each = pattern.matcher(text);
        for (int from = 0; each.find(from); from = each.end()) {
            found = pattern.matcher(text);
            found.find(each.start());
        }
        return found;
    }

    private List<Rank> living() {
        return ranks.values().stream().filter(rank -> rank.process().isAlive()).toList();
    }

    /** Asks the ranks to end, and requires that they exit with status 0. */
    void end() throws IOException, InterruptedException {
        Files.createFile(folder.resolve("stop"));
        for (Rank rank : living()) {
            if (!rank.process().waitFor(LIMIT_NANOS, TimeUnit.NANOSECONDS)
                    || rank.process().exitValue() != 0) {
                throw new AssertionError("a rank did not end:" + allOutput());
            }
        }
    }

    private String allOutput() {
        StringBuilder text = new StringBuilder();
        for (Rank rank : ranks.values()) {
            if (rank.process().isAlive() || ranks.size() < 2 * size) {
                List<String> lines = rank.text().lines().toList();
                text.append("\n---- process ").append(rank.process().pid());
                text.append(rank.process().isAlive() ? ", which runs ----\n" : " ----\n");
                text.append(String.join("\n", lines.subList(Math.max(0, lines.size() - 30), lines.size())));
            }
        }
        return text.toString();
    }

    @Override
    public void close() {
        ranks.values().forEach(rank -> rank.process().destroyForcibly());
        for (Rank rank : ranks.values()) {
            try {
                rank.process().waitFor(10, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Arguments: folder, rounds, ranks, transport or {@code none}, seed, limit in ms of a call. Prints a table. */
    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[1]);
        long limit = Long.parseLong(arguments[5]);
        long seed = Long.parseLong(arguments[4]);
        List<Times> all = new ArrayList<>();
        try (ElasticRounds rounds = start(Path.of(arguments[0]), Integer.parseInt(arguments[2]), arguments[3], seed)) {
            System.out.printf(
                    "%6s %10s %11s %10s %10s %10s %12s%n",
                    "round", "killed", "generation", "shrink ms", "grow ms", "total ms", "descriptors");
            for (int i = 0; i < count; i++) {
                Times times = rounds.round();
                all.add(times);
                System.out.printf(
                        "%6d %10s %11d %10d %10d %10d %12d%s%n",
                        times.round(),
                        times.victims(),
                        times.generation(),
                        times.shrink(),
                        times.grow(),
                        times.total(),
                        times.descriptors(),
                        times.isSlow(limit) ? "  SLOW" : "");
            }
            rounds.end();
        }
        long slow = all.stream().filter(times -> times.isSlow(limit)).count();
        long zero = all.stream().filter(times -> times.victims().contains(0)).count();
        System.out.printf("rounds=%d with rank 0 among the killed=%d results right=%d%n", count, zero, all.size());
        System.out.printf("%-10s %s%n", "shrink ms", summary(all.stream().mapToLong(Times::shrink)));
        System.out.printf(
                "%-10s %s%n",
                "grow ms",
                summary(all.stream()
                        .filter(times -> times.victims().size() == 1)
                        .mapToLong(Times::grow)));
        System.out.printf("%-10s %s%n", "total ms", summary(all.stream().mapToLong(Times::total)));
        System.out.printf("calls longer than %d ms: in %d rounds%n", limit, slow);
        System.exit(slow == 0 ? 0 : 1);
    }

    private static String summary(LongStream values) {
        long[] sorted = values.sorted().toArray();
        return sorted.length == 0
                ? "none"
                : "median=" + sorted[sorted.length / 2] + " 95%=" + sorted[sorted.length * 95 / 100] + " max="
                        + sorted[sorted.length - 1];
    }
}
