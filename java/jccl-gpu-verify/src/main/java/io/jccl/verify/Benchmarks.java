package io.jccl.verify;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Measures collectives by {@code jccl perf}, for several algorithms, protocols and sizes. */
final class Benchmarks {

    /**
     * One run.
     *
     * @param processes true if each rank is a process, false if ranks are threads of one process
     * @param mode how operations follow one another: await, stream or graph
     * @param large true for one size that fills the links; its results are not checked, because that would take longer
     *     than everything else
     */
    record Run(
            String collective,
            int ranks,
            boolean processes,
            String mode,
            String algorithm,
            String protocol,
            boolean large) {

        Run(String collective, int ranks, String algorithm, String protocol, boolean large) {
            this(collective, ranks, false, "await", algorithm, protocol, large);
        }

        Run byProcesses() {
            return new Run(collective, ranks, true, mode, algorithm, protocol, large);
        }

        Run by(String otherMode) {
            return new Run(collective, ranks, processes, otherMode, algorithm, protocol, large);
        }

        String name() {
            return collective + (processes ? " processes=" : " ranks=") + ranks + " " + algorithm + " " + protocol
                    + (mode.equals("await") ? "" : " " + mode) + (large ? " large" : "");
        }
    }

    /**
     * Number of operations whose results {@code jccl perf --check} compares for each size and placement: one by its
     * expected result, and two with each other.
     */
    private static final int OPERATIONS = 3;

    private final Steps steps;
    private final boolean quick;
    private final int gpus;
    private final double copyLimit;

    /**
     * @param quick true for small sizes, for emulated GPUs
     * @param copyLimit copy limit in GB/s; 0 if it was not measured
     */
    Benchmarks(Steps steps, boolean quick, int gpus, double copyLimit) {
        this.steps = steps;
        this.quick = quick;
        this.gpus = gpus;
        this.copyLimit = copyLimit;
    }

    /** Returns the runs, the most important first, because the time may not suffice for all. */
    List<Run> runs() {
        int ranks = Math.max(2, gpus);
        List<Run> runs = new ArrayList<>();
        runs.add(new Run("all_reduce", ranks, "auto", "auto", false));
        if (gpus > 1) {
            runs.add(runs.get(0).byProcesses());
        }
        runs.add(runs.get(0).by("stream"));
        runs.add(runs.get(0).by("graph"));
        if (quick) {
            runs.add(new Run("all_to_all", ranks, "auto", "auto", false));
            return runs;
        }
        for (String collective : List.of("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv")) {
            Run large = new Run(collective, ranks, "auto", "auto", true);
            runs.add(large);
            runs.add(large.by("stream"));
            if (gpus > 1) {
                runs.add(large.byProcesses());
            }
        }
        for (String algorithm : List.of("ring", "tree")) {
            for (String protocol : List.of("ll", "ll128", "simple")) {
                runs.add(new Run("all_reduce", ranks, algorithm, protocol, false));
            }
        }
        // Ranks of one process use each other's buffers in place, which only SIMPLE can do.
        runs.add(new Run("all_reduce", ranks, "direct", "simple", false));
        runs.add(new Run("all_reduce", ranks, "ring", "simple", true));
        for (String collective : List.of("all_gather", "reduce_scatter", "broadcast", "reduce")) {
            for (String protocol : List.of("ll", "ll128", "simple")) {
                runs.add(new Run(collective, ranks, "ring", protocol, false));
            }
        }
        for (String collective : List.of("all_to_all", "send_recv", "gather", "scatter")) {
            runs.add(new Run(collective, ranks, "auto", "auto", false));
        }
        runs.add(new Run("all_reduce", 1, "auto", "auto", false));
        if (gpus == 1) {
            runs.add(new Run("all_reduce", 4, "auto", "auto", false));
            runs.add(new Run("all_reduce", 8, "auto", "auto", false));
        }
        return runs;
    }

    /** Executes a run; returns why it failed, or an empty text. */
    String run(Run run, List<Report.Measurement> measurements) throws IOException, InterruptedException {
        List<String> arguments = Jvm.devicePerf(
                run.collective,
                run.ranks,
                "--algorithm",
                run.algorithm,
                "--protocol",
                run.protocol,
                "--mode",
                run.mode,
                "--budget",
                "0.02",
                "--json",
                "-");
        arguments.addAll(
                run.large
                        ? List.of("-b", "128M", "-e", "128M")
                        : List.of("--check", "-b", "8", "-e", quick ? "2K" : "8M", "-f", "16"));
        if (!run.processes) {
            arguments.add("--threads");
        }
        if (quick) {
            arguments.addAll(List.of("--iters", "2", "--warmup", "1"));
        }
        String name = "benchmark-" + run.name().replace(' ', '-').replace("=", "");
        Map<String, String> environment = new HashMap<>(Map.of("JCCL_LL128", "force"));
        if (quick) {
            environment.put("JCCL_NTHREADS", "64");
        }
        List<String> command = quick ? Jvm.brief(arguments) : Jvm.jccl(arguments);
        ChildProcess.Result result = steps.child(name, command, environment);
        for (JsonNode row : result.rows()) {
            measurements.add(measurement(row));
        }
        return Steps.failure(name, result);
    }

    private Report.Measurement measurement(JsonNode row) {
        JsonNode side = row.path("out_of_place");
        int ranks = row.path("ranks").asInt();
        double busbw = side.path("busbw_gbps").asDouble();
        double ranksOfGpu = Math.ceil(ranks / (double) gpus);
        JsonNode wrong = side.path("wrong");
        return new Report.Measurement(
                row.path("collective").asText(),
                ranks,
                row.at("/run/processes").asInt(),
                row.at("/run/mode").asText(),
                row.path("bytes").asLong(),
                row.path("algorithm").asText(),
                row.path("protocol").asText(),
                row.path("channels").asInt(),
                side.path("time_us").asDouble(),
                side.path("p50_us").asDouble(),
                side.path("algbw_gbps").asDouble(),
                busbw,
                copyLimit > 0 && ranks > 1 ? rounded(busbw * ranksOfGpu / copyLimit) : null,
                wrong.isNull()
                        ? null
                        : wrong.asLong() + row.at("/in_place/wrong").asLong(),
                wrong.isNull() ? 0 : row.at("/in_place/time_us").isNull() ? OPERATIONS : 2 * OPERATIONS);
    }

    private static double rounded(double value) {
        return Math.rint(value * 1e6) / 1e6;
    }
}
