package io.jccl.cli;

import io.jccl.CommunicatorConfig;
import io.jccl.cli.topo.TopoJson;
import io.jccl.cli.topo.TopoText;
import io.jccl.cli.topo.svg.TopoSvg;
import io.jccl.config.Registry;
import io.jccl.config.Settings;
import io.jccl.plan.PlanOptions;
import io.jccl.topology.HostRank;
import io.jccl.topology.MachineSource;
import io.jccl.topology.PathPolicy;
import io.jccl.topology.SysfsDetector;
import io.jccl.topology.TopologyException;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.TopologyXmlWriter;
import io.jccl.topology.XmlElement;
import io.jccl.tuning.CommunicatorShape;
import io.jccl.tuning.HostCosts;
import io.jccl.tuning.TopologyReport;
import io.jccl.tuning.TopologyReporter;
import io.jccl.tuning.TuningOverrides;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
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
    private static final int SLOTS = 8;

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
        try {
            XmlElement description = description();
            if (wanted.equals("xml")) {
                System.out.println(TopologyXmlWriter.write(description).stripTrailing());
                return Main.FINE;
            }
            TopologyReport report = TopologyReporter.report(request(description), System::nanoTime);
            System.out.println(
                    switch (wanted) {
                        case "json" -> TopoJson.write(report);
                        case "svg" -> TopoSvg.write(report);
                        default -> TopoText.write(report);
                    });
            return Main.FINE;
        } catch (TopologyException e) {
            throw usage(e.getMessage());
        }
    }

    private ParameterException usage(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    private XmlElement description() {
        if (file != null) {
            return TopologyXmlReader.read(file);
        }
        int numa = SysfsDetector.ofThisMachine().numaNodeOfThisProcess();
        int here = ranks == 0 ? cores() : ranks;
        return MachineSource.describe(
                Settings.load(CommunicatorConfig.defaults()),
                IntStream.range(0, here)
                        .mapToObj(rank -> new HostRank(rank, numa))
                        .toList());
    }

    private TopologyReporter.Request request(XmlElement description) {
        Settings settings = Settings.load(CommunicatorConfig.defaults());
        int min = Math.max(1, settings.get(Registry.MIN_NCHANNELS));
        int max = settings.get(Registry.MAX_NCHANNELS);
        String version = TopoCommand.class.getPackage().getImplementationVersion();
        return new TopologyReporter.Request(
                file == null ? MachineSource.name(settings) : file.toString(),
                version == null ? "unknown" : version,
                description,
                machines,
                localOnly,
                PathPolicy.of(settings),
                cores(),
                slots(settings),
                HostCosts.builtIn(),
                TuningOverrides.of(
                        settings.get(Registry.ALGO),
                        settings.get(Registry.PROTO),
                        min,
                        max,
                        settings.get(Registry.CHUNK_BYTES)),
                new PlanOptions(min, max == 0 ? PlanOptions.CHANNEL_LIMIT : max));
    }

    private static CommunicatorShape.SlotBytes slots(Settings settings) {
        return new CommunicatorShape.SlotBytes(
                slot(settings.get(Registry.LL_BUFFSIZE)) / 2 - 4,
                slot(settings.get(Registry.LL128_BUFFSIZE)) / 128 * 120 - 8,
                slot(settings.get(Registry.BUFFSIZE)));
    }

    /** An eighth of a connection's memory in whole lines; LL and LL128 spend a cell's and 8 bytes on a header. */
    private static int slot(int connectionBytes) {
        return connectionBytes / SLOTS / 128 * 128;
    }

    private static int cores() {
        return Runtime.getRuntime().availableProcessors();
    }
}
