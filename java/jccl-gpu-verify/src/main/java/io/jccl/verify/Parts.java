package io.jccl.verify;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * The steps to run on a GPU that is lent for minutes, in two parts. Each step has a time limit of its own, so that one that
 * hangs does not take the time of the others. The most important steps come first.
 */
final class Parts {

    /** The first part measures; the second one tests. */
    enum Part {
        FIRST,
        SECOND;

        static Optional<Part> find(String name) {
            return Stream.of(values())
                    .filter(part -> part.name().equalsIgnoreCase(name))
                    .findFirst();
        }
    }

    private static final Duration DRIVER = Duration.ofSeconds(20);
    private static final Duration DRIVER_COSTS = Duration.ofSeconds(30);
    private static final Duration MULTICAST = Duration.ofSeconds(30);
    private static final Duration COMPARISON = Duration.ofSeconds(110);
    private static final Duration ONE_COMPARISON = Duration.ofSeconds(35);
    private static final Duration ENGINE_LOOP = Duration.ofSeconds(20);
    private static final Duration STAMPED = Duration.ofSeconds(40);
    private static final Duration SWEEPS = Duration.ofSeconds(90);
    private static final Duration PROFILER = Duration.ofSeconds(30);
    private static final Duration TESTS = Duration.ofSeconds(110);
    private static final Duration RACES = Duration.ofSeconds(30);

    private static final List<String> COLLECTIVES =
            List.of("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast");
    private static final List<String> MODES = List.of("await", "stream", "graph");

    private final Steps steps;
    private final Bundle bundle;
    private final List<Report.Record> records;
    private final boolean quick;
    private final Optional<Path> nccl;
    private String peerObstacle = ""; // why two ranks cannot be compared with NCCL; empty if they can
    private boolean peerOfOneRank;

    /**
     * @param records receives the lines of JSON of all programs
     * @param quick true for few small sizes, for emulated GPUs
     * @param nccl the file of NCCL; empty to look in the usual places
     */
    Parts(Steps steps, Bundle bundle, List<Report.Record> records, boolean quick, Optional<Path> nccl) {
        this.steps = steps;
        this.bundle = bundle;
        this.records = records;
        this.quick = quick;
        this.nccl = nccl;
    }

    /** The steps of a part in their order, with the time that each may take. */
    static Map<String, Duration> plan(Part part) {
        Map<String, Duration> plan = new LinkedHashMap<>();
        if (part == Part.FIRST) {
            plan.put("driver and NCCL", DRIVER);
            plan.put("driver-costs", DRIVER_COSTS);
            plan.put("multicast-one", MULTICAST);
            plan.put("comparison with NCCL", COMPARISON);
            plan.put("loop", ENGINE_LOOP);
            plan.put("stamped", STAMPED);
            plan.put("sweeps", SWEEPS);
            plan.put("profile of a kernel", PROFILER);
        } else {
            plan.put("tests tagged gpu", TESTS);
            plan.put("races", RACES.multipliedBy(2));
        }
        return plan;
    }

    /** Returns the time that all steps of a part may take together. */
    static Duration limit(Part part) {
        return plan(part).values().stream().reduce(Duration.ZERO, Duration::plus);
    }

    /** Measures: the driver, its costs, multicast, the comparison with NCCL, parts of kernels, sweeps, a profile. */
    void first() throws IOException, InterruptedException {
        steps.step("driver and NCCL", DRIVER, this::driver);
        program("driver-costs", DRIVER_COSTS);
        program("multicast-one", MULTICAST);
        compare();
        program("loop", ENGINE_LOOP);
        program("stamped", STAMPED);
        program("sweeps", SWEEPS);
        profile();
    }

    /** Tests: the tests tagged {@code gpu}, and races of kernels. */
    void second(JunitTests tests, Consumer<Report.Tests> counts) throws IOException, InterruptedException {
        tests.onGpus(TESTS, counts);
        new Sanitizer(steps).races(RACES);
    }

    private String driver() throws IOException, InterruptedException {
        String failure = bench("facts", DRIVER, List.of());
        Optional<Path> clocks = NcclTests.find("nvidia-smi", System.getenv());
        if (clocks.isPresent()) {
            clocks(clocks.get());
        }
        ChildProcess.Result two = perf("nccl-of-two", List.of(line("all_reduce", 2, "await", true, "8", "8", 10)));
        if (two.status() != 0) {
            peerObstacle = two.isLate() ? "its time was over" : two.reason();
            ChildProcess.Result one = perf("nccl-of-one", List.of(line("all_reduce", 1, "await", true, "8", "8", 10)));
            peerOfOneRank = one.status() == 0;
        }
        return failure;
    }

    private void clocks(Path program) throws IOException, InterruptedException {
        steps.child(
                "clocks",
                List.of(
                        program.toString(),
                        "--query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.limit",
                        "--format=csv"),
                Map.of());
    }

    private void program(String name, Duration limit) throws IOException, InterruptedException {
        steps.step(name, limit, () -> bench(name, limit, List.of()));
    }

    /** Runs a program of the benchmark, by a launcher such as a profiler if there is one. */
    private String bench(String name, Duration limit, List<String> launcher) throws IOException, InterruptedException {
        Path program = bundle.benchmark();
        if (!Files.exists(program)) {
            return "program=" + program + ": missing; make the bundle again, with nvcc on the path";
        }
        List<String> command = new ArrayList<>(launcher);
        command.addAll(List.of(program.toString(), name, "" + Math.max(1, limit.toSeconds() * 8 / 10)));
        if (quick) {
            command.add("quick");
        }
        String log = (launcher.isEmpty() ? "" : "profiled-") + name;
        ChildProcess.Result result = steps.child(log, command, Map.of());
        keep(log, result);
        return Steps.failure(log, result);
    }

    private void keep(String step, ChildProcess.Result result) {
        for (JsonNode row : result.rows()) {
            records.add(new Report.Record(step, row));
        }
    }

    /** Compares JCCL with NCCL by two ranks on one GPU. If NCCL cannot run them, one rank is compared. */
    private void compare() throws IOException, InterruptedException {
        long end = System.nanoTime() + COMPARISON.toNanos();
        for (String collective : quick ? COLLECTIVES.subList(0, 2) : COLLECTIVES) {
            Duration left = Duration.ofNanos(Math.max(0, end - System.nanoTime()));
            String name = "compare " + collective;
            if (left.compareTo(ONE_COMPARISON.dividedBy(5)) < 0) {
                steps.notRun(name, "the time of all comparisons, " + COMPARISON.toSeconds() + " s, was over");
                continue;
            }
            Duration limit = left.compareTo(ONE_COMPARISON) < 0 ? left : ONE_COMPARISON;
            steps.step(name, limit, () -> compare("compare-" + collective, collective, 2, peerObstacle.isEmpty()));
        }
        if (peerObstacle.isEmpty()) {
            return;
        }
        steps.notRun("comparison of two ranks with NCCL", peerObstacle);
        if (peerOfOneRank) {
            steps.step("compare one rank", ONE_COMPARISON, () -> compare("compare-one-rank", "all_reduce", 1, true));
        }
    }

    private String compare(String log, String collective, int ranks, boolean withPeer)
            throws IOException, InterruptedException {
        List<List<String>> lines = new ArrayList<>();
        for (String mode : MODES) {
            lines.add(line(collective, ranks, mode, withPeer, "8", quick ? "2K" : "512K", 5000));
        }
        for (String mode : quick ? List.<String>of() : MODES) {
            lines.add(line(collective, ranks, mode, withPeer, "8M", "128M", 20));
        }
        return Steps.failure(log, perf(log, lines));
    }

    private List<String> line(
            String collective, int ranks, String mode, boolean withPeer, String min, String max, int warmup) {
        List<String> line = Jvm.devicePerf(collective, ranks, "--threads", "--mode", mode, "--json", "-");
        line.addAll(List.of("-b", min, "-e", max, "-f", "16", "--budget", "0.02"));
        line.addAll(quick ? List.of("--iters", "20", "--warmup", "1") : List.of("--warmup", "" + warmup));
        if (withPeer) {
            line.addAll(List.of("--peer", "nccl"));
            nccl.ifPresent(file -> line.addAll(List.of("--peer-library", file.toString())));
        }
        return line;
    }

    /** Runs command lines in one JVM, and keeps the lines of JSON, also of those before one that hangs. */
    private ChildProcess.Result perf(String log, List<List<String>> lines) throws IOException, InterruptedException {
        List<String> arguments = new ArrayList<>();
        for (List<String> line : lines) {
            arguments.addAll(line);
            arguments.add(CommandSeries.NEXT);
        }
        List<String> command =
                quick ? Jvm.brief(CommandSeries.class, arguments) : Jvm.program(CommandSeries.class, arguments);
        Map<String, String> environment = quick ? Map.of("JCCL_NTHREADS", "64") : Map.of();
        ChildProcess.Result result = steps.child(log, command, environment);
        keep(log, result);
        return result;
    }

    private void profile() throws IOException, InterruptedException {
        Optional<Path> profiler = NcclTests.find("ncu", System.getenv());
        if (profiler.isEmpty()) {
            steps.notRun("profile of a kernel", "there is no ncu (Nsight Compute) on the path");
            return;
        }
        List<String> launcher = List.of(
                profiler.get().toString(),
                "--kernel-name",
                "regex:jccl_in_place",
                "--launch-count",
                "2",
                "--section",
                "SpeedOfLight",
                "--section",
                "MemoryWorkloadAnalysis",
                "--section",
                "WarpStateStats",
                "--section",
                "LaunchStats",
                "--csv",
                "--page",
                "details");
        steps.step("profile of a kernel", PROFILER, () -> bench("stub-peer", PROFILER, launcher));
    }
}
