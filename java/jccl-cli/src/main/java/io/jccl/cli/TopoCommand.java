package io.jccl.cli;

import io.jccl.CommunicatorConfig;
import io.jccl.cli.topo.TopoJson;
import io.jccl.cli.topo.TopoText;
import io.jccl.cli.topo.svg.TopoSvg;
import io.jccl.config.Registry;
import io.jccl.config.Settings;
import io.jccl.plan.Plan;
import io.jccl.plan.PlanOptions;
import io.jccl.topology.TopologyException;
import io.jccl.topology.TopologyXmlWriter;
import io.jccl.tuning.TopologyReport;
import io.jccl.tuning.TopologyReporter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code jccl topo}. */
@Command(
        name = "topo",
        description = {
            "Shows this machine, or one described by a file, as JCCL sees it: nodes, links, paths, channels, the plan over "
                    + "several such machines, and what is chosen for each size.",
            ""
        },
        sortOptions = false)
final class TopoCommand implements Callable<Integer> {

    private static final List<String> FORMATS = List.of("text", "json", "xml", "svg");

    @Spec
    private CommandSpec spec;

    @Option(names = "--file", paramLabel = "TOPO.xml", description = "a description instead of this machine")
    private Path file;

    @Option(
            names = {"-n", "--ranks"},
            paramLabel = "N",
            defaultValue = "0",
            description = "ranks on this machine (default: as many as there are cores)")
    private int ranks;

    @Option(
            names = "--machines",
            paramLabel = "N",
            defaultValue = "1",
            description = "the plan for N such machines (default: ${DEFAULT-VALUE})")
    private int machines;

    @Option(names = "--local-only", description = "networks play no part")
    private boolean localOnly;

    @Option(
            names = "--format",
            paramLabel = "FORMAT",
            defaultValue = "text",
            description = "text, json, xml or svg (default: ${DEFAULT-VALUE})")
    private String format;

    @Option(names = "--json", description = "the same as --format json")
    private boolean json;

    @Option(
            names = "--rank",
            paramLabel = "R",
            description = "with json: of paths and plan only what concerns this rank of all machines")
    private Integer rank;

    private TopoCommand() {}

    @Override
    public Integer call() {
        String wanted = json ? "json" : format.toLowerCase(Locale.ROOT);
        if (!FORMATS.contains(wanted)) {
            throw usage("format=\"" + format + "\": unknown; name one of " + FORMATS);
        }
        if (machines < 1 || ranks < 0) {
            throw usage("machines=" + machines + " ranks=" + ranks + ": expected at least 1 of each");
        }
        if (rank != null && !wanted.equals("json")) {
            throw usage("rank=" + rank + " format=" + wanted + ": only JSON can be limited to a rank");
        }
        try {
            TopologyReporter.Request request = request();
            if (wanted.equals("xml")) {
                System.out.println(
                        TopologyXmlWriter.write(request.description()).stripTrailing());
                return Main.FINE;
            }
            TopologyReport report = TopologyReporter.report(request, System::nanoTime);
            switch (wanted) {
                case "json" -> TopoJson.write(report, checkedRank(report), System.out);
                case "svg" -> System.out.println(TopoSvg.write(report));
                default -> System.out.println(TopoText.write(report));
            }
            return Main.FINE;
        } catch (TopologyException e) {
            throw usage(e.getMessage());
        }
    }

    private OptionalInt checkedRank(TopologyReport report) {
        if (rank == null) {
            return OptionalInt.empty();
        }
        int ranks = report.plan().map(Plan::size).orElse(0);
        if (rank < 0 || rank >= ranks) {
            throw usage("rank=" + rank + ": expected one of the " + ranks + " ranks of the plan, from 0");
        }
        return OptionalInt.of(rank);
    }

    private ParameterException usage(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    private TopologyReporter.Request request() {
        Settings settings = Settings.load(CommunicatorConfig.defaults());
        int min = Math.max(1, settings.get(Registry.MIN_NCHANNELS));
        int max = settings.get(Registry.MAX_NCHANNELS);
        PlanOptions options = new PlanOptions(min, max == 0 ? PlanOptions.CHANNEL_LIMIT : max);
        int here = ranks == 0 ? Runtime.getRuntime().availableProcessors() : ranks;
        return ThisMachine.request(Optional.ofNullable(file), here, machines, localOnly, settings, options);
    }
}
