package io.jccl.cli;

import io.jccl.CommunicatorConfig;
import io.jccl.cli.output.ExitCode;
import io.jccl.cli.topo.ThisHost;
import io.jccl.cli.topo.TopoJson;
import io.jccl.cli.topo.TopoText;
import io.jccl.cli.topo.TopologyReport;
import io.jccl.cli.topo.TopologyReporter;
import io.jccl.cli.topo.svg.TopoSvg;
import io.jccl.config.Settings;
import io.jccl.init.Parts;
import io.jccl.planning.Plan;
import io.jccl.planning.PlanningOptions;
import io.jccl.topology.TopologyException;
import io.jccl.topology.TopologyXmlWriter;
import io.jccl.tuning.HostCosts;
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

/** The subcommand {@code jccl topo}. */
@Command(
        name = "topo",
        description = {
            "Shows this host, or one described by a file, as JCCL sees it: nodes, links, paths, channels, the plan over "
                    + "several such hosts, and the algorithm and protocol for each size.",
            ""
        },
        sortOptions = false)
final class TopoCommand implements Callable<Integer> {

    private static final List<String> FORMATS = List.of("text", "json", "xml", "svg", "graph");

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--file",
            paramLabel = "TOPO.xml",
            description = {
                "describe the host in this file instead of this one",
                "if given several times: plan over these hosts, which may differ, in this order"
            })
    private List<Path> files = List.of();

    @Option(
            names = {"-n", "--ranks"},
            paramLabel = "N",
            defaultValue = "0",
            description = "number of ranks on this host (default: the number of cores)")
    private int ranks;

    @Option(
            names = "--machines",
            paramLabel = "N",
            description = "plan for N such hosts (default: the number of files, or 1)")
    private Integer hosts;

    @Option(names = "--local-only", description = "ignore networks")
    private boolean localOnly;

    @Option(
            names = "--format",
            paramLabel = "FORMAT",
            defaultValue = "text",
            description = "text, json, xml, svg, or graph, which is the channels in the format of JCCL_GRAPH_FILE "
                    + "(default: ${DEFAULT-VALUE})")
    private String format;

    @Option(names = "--json", description = "the same as --format json")
    private boolean json;

    @Option(
            names = "--rank",
            paramLabel = "R",
            description = "with json: print only the paths and the plan of this rank, numbered over all hosts")
    private Integer rank;

    private TopoCommand() {}

    @Override
    public Integer call() {
        String wanted = json ? "json" : format.toLowerCase(Locale.ROOT);
        if (!FORMATS.contains(wanted)) {
            throw usage("format=\"" + format + "\": unknown; name one of " + FORMATS);
        }
        if (hosts != null && hosts < 1 || ranks < 0) {
            throw usage("machines=" + hosts + " ranks=" + ranks + ": expected at least 1 of each");
        }
        if (files.size() > 1) {
            checkSeveral(wanted);
        }
        if (rank != null && !wanted.equals("json")) {
            throw usage("rank=" + rank + " format=" + wanted + ": only JSON can be limited to a rank");
        }
        try {
            List<TopologyReporter.Request> requests = requests();
            if (wanted.equals("xml")) {
                System.out.println(
                        TopologyXmlWriter.write(requests.get(0).description()).stripTrailing());
                return ExitCode.SUCCESS;
            }
            if (wanted.equals("graph")) {
                System.out.println(TopologyReporter.graphs(requests.get(0)).stripTrailing());
                return ExitCode.SUCCESS;
            }
            List<TopologyReport> reports = requests.size() == 1
                    ? List.of(TopologyReporter.report(requests.get(0), System::nanoTime))
                    : TopologyReporter.reportUnlike(requests, System::nanoTime);
            switch (wanted) {
                case "json" -> TopoJson.write(reports, checkedRank(reports.get(0)), System.out);
                case "svg" -> System.out.println(TopoSvg.write(reports.get(0), hostName()));
                default -> System.out.println(TopoText.write(reports));
            }
            return ExitCode.SUCCESS;
        } catch (TopologyException e) {
            throw usage(e.getMessage());
        }
    }

    private void checkSeveral(String wanted) {
        if (hosts != null && hosts != files.size()) {
            throw usage("machines=" + hosts + " files=" + files.size()
                    + ": each file is one host; leave out --machines, or give one file");
        }
        if (localOnly) {
            throw usage(
                    "files=" + files.size() + " --local-only: a plan over several hosts uses networks; give one file");
        }
        if (List.of("xml", "svg", "graph").contains(wanted)) {
            throw usage("files=" + files.size() + " format=" + wanted
                    + ": shows one host; give one file, or ask for text or json");
        }
    }

    private Optional<String> hostName() {
        return files.isEmpty() ? ThisHost.name() : Optional.empty();
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

    /** Returns a request for each file, or one for this host if there is no file. */
    private List<TopologyReporter.Request> requests() {
        Settings settings = Settings.load(CommunicatorConfig.defaults());
        PlanningOptions options = PlanningOptions.of(settings, HostCosts.of(settings), Parts.expected(settings));
        int here = ranks == 0 ? ThisHost.cores() : ranks;
        List<Optional<Path>> sources = files.isEmpty()
                ? List.of(Optional.empty())
                : files.stream().map(Optional::of).toList();
        int all = hosts == null ? sources.size() : hosts;
        return sources.stream()
                .map(file -> ThisHost.request(file, here, all, localOnly, settings, options))
                .toList();
    }
}
