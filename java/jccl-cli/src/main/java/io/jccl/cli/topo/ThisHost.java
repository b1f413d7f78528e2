package io.jccl.cli.topo;

import io.jccl.cli.output.BuildVersion;
import io.jccl.config.Settings;
import io.jccl.init.Parts;
import io.jccl.planning.PlanningOptions;
import io.jccl.search.GraphFile;
import io.jccl.search.SearchOptions;
import io.jccl.topology.HostRank;
import io.jccl.topology.NetPlugin;
import io.jccl.topology.SysfsDetector;
import io.jccl.topology.TopologySource;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.XmlElement;
import io.jccl.transport.TransportSelector;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/** Makes requests for reports on this host, with the settings of this process. */
public final class ThisHost {

    private static final Pattern MODEL = Pattern.compile("(?m)^(?:model name|Model|cpu model)\\s*:[ \\t]*(\\S.*)$");

    private ThisHost() {}

    /** Returns the name of this host; empty if the system does not tell it. */
    public static Optional<String> name() {
        return read("/proc/sys/kernel/hostname");
    }

    /** Returns the model of the processor, or the architecture if the kernel names no model. */
    public static String processor() {
        return read("/proc/cpuinfo").flatMap(ThisHost::model).orElseGet(() -> System.getProperty("os.arch"));
    }

    /**
     * Returns the processor's model from the text of {@code /proc/cpuinfo}; empty if there is none, as on 64-bit ARM.
     */
    static Optional<String> model(String cpuinfo) {
        Matcher matcher = MODEL.matcher(cpuinfo);
        return matcher.find() ? Optional.of(matcher.group(1).strip().replaceAll("\\s+", " ")) : Optional.empty();
    }

    private static Optional<String> read(String file) {
        try {
            return Optional.of(Files.readString(Path.of(file)).strip()).filter(text -> !text.isEmpty());
        } catch (IOException e) {
            return Optional.empty(); // not Linux, or hidden by a container
        }
    }

    /**
     * Returns the number of processors that the ranks of this host share: as many as this process may use by affinity
     * and quota.
     */
    public static int cores() {
        return SysfsDetector.ofThisHost().processorsOfThisProcess().count();
    }

    /** Describes this host with {@code ranks} ranks on the NUMA node of this process. */
    private static XmlElement describe(int ranks, Settings settings) {
        int numa = SysfsDetector.ofThisHost().numaNodeOfThisProcess();
        NetPlugin.Choice plugin = NetPlugin.of(settings);
        if (plugin.asked()) {
            plugin.obstacles().forEach(obstacle -> System.err.println("jccl: " + obstacle + "; it is not used"));
        }
        return TopologySource.describe(
                settings,
                Parts.networks(settings, plugin.plugin()),
                IntStream.range(0, ranks)
                        .mapToObj(rank -> new HostRank(rank, numa))
                        .toList());
    }

    /**
     * Makes a request.
     *
     * @param file a description to use instead of this host's
     * @param ranks number of ranks on this host
     * @param hosts number of such hosts
     * @param localOnly true to ignore networks
     * @throws io.jccl.topology.TopologyException if the file cannot be read
     */
    public static TopologyReporter.Request request(
            Optional<Path> file, int ranks, int hosts, boolean localOnly, Settings settings, PlanningOptions options) {
        return new TopologyReporter.Request(
                file.map(Path::toString).orElseGet(() -> TopologySource.name(settings)),
                BuildVersion.get(),
                file.map(TopologyXmlReader::read).orElseGet(() -> describe(ranks, settings)),
                hosts,
                localOnly,
                Parts.paths(settings),
                SearchOptions.CrossNic.of(settings),
                GraphFile.of(settings),
                cores(),
                TransportSelector.expectedInside(settings, false),
                options);
    }
}
