package io.jccl.cli.perf;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Formats the lines before the table: the measurement, the versions, the host, the placement and the settings. */
final class PerfHeader {

    private PerfHeader() {}

    static String of(PerfOptions options, RunInfo run) {
        List<String> lines = new ArrayList<>(List.of(
                "jccl perf " + options.collective().label() + ": " + String.join(", ", how(options, run)),
                "JCCL " + run.version() + " (build " + run.build() + "), Java " + run.java() + ", " + run.date(),
                "host " + run.host().text()));
        if (!run.gpus().isEmpty()) {
            lines.add("GPUs: " + GpuNames.counted(run.gpus()));
        }
        lines.add(run.placement().text());
        if (!run.settings().isEmpty()) {
            StringBuilder settings = new StringBuilder("settings:");
            run.settings()
                    .forEach((name, value) ->
                            settings.append(' ').append(name).append('=').append(value));
            lines.add(settings.toString());
        }
        return lines.stream().map(line -> "# " + line + "\n").collect(Collectors.joining());
    }

    private static List<String> how(PerfOptions options, RunInfo run) {
        return List.of(
                "ranks " + run.placement().ranks(),
                "backend " + options.backend(),
                "transport " + run.transport(),
                "memory " + options.memory().label(),
                "mode " + options.mode().label(),
                "iterations " + (options.iterations() > 0 ? Integer.toString(options.iterations()) : "by time"),
                "check " + (options.check() ? "on" : "off"));
    }
}
