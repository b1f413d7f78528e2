package io.jccl.topology;

import io.jccl.config.LoggedOnce;
import io.jccl.config.Settings;
import io.jccl.config.TopologySettings;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Where the description of this host comes from: detection, and before it the file that the settings name. What the
 * file says counts; what it leaves out is filled with what detection finds. A file that names ranks is complete.
 */
public final class TopologySource {

    private static final String THIS_HOST = "this host";

    private TopologySource() {}

    /** Returns the source's name: {@code this host}, or the file under the name of its setting unless the file is ignored. */
    public static String name(Settings settings) {
        boolean ignored = settings.origin(TopologySettings.TOPO_FILE).isOfNccl()
                && given(settings).isEmpty();
        return ignored ? THIS_HOST : file(settings);
    }

    private static String file(Settings settings) {
        return settings.get(TopologySettings.TOPO_FILE)
                .map(file -> settings.origin(TopologySettings.TOPO_FILE).name() + "=" + file)
                .orElse(THIS_HOST);
    }

    /**
     * The description with an endpoint for each rank. A file that names ranks itself is taken as it is, unless it stands
     * under NCCL's name.
     *
     * @param plugin the network plug-in that is used
     * @param ranks the ranks of this host that work on host memory
     * @throws TopologyException if the file is no acceptable description, and stands under JCCL's name
     */
    public static XmlElement describe(Settings settings, Optional<NetPlugin> plugin, List<HostRank> ranks) {
        return describe(settings, ranks, () -> SysfsDetector.detectThisHost(settings, plugin, List.of()));
    }

    /**
     * The description with the GPUs of ranks as their endpoints; several ranks may share one.
     *
     * @param plugin the network plug-in that is used
     * @param ranks by the bus ids of their GPUs, in lower case
     * @return empty where one of these GPUs is not found, and where the file names ranks itself
     * @throws TopologyException if the file is no acceptable description, and stands under JCCL's name
     */
    public static Optional<XmlElement> describeGpus(
            Settings settings, Optional<NetPlugin> plugin, Map<String, List<Integer>> ranks) {
        Optional<XmlElement> given = given(settings);
        if (given.filter(HostElements::namesRank).isPresent()) {
            return Optional.empty();
        }
        XmlElement found = SysfsDetector.detectThisHost(settings, plugin, List.of());
        return GpuElements.add(filled(settings, given, found), ranks);
    }

    /** @param detection finds the host without its ranks */
    static XmlElement describe(Settings settings, List<HostRank> ranks, Supplier<XmlElement> detection) {
        Optional<XmlElement> given = given(settings);
        if (given.filter(HostElements::namesRank).isPresent()) {
            return given.get();
        }
        return HostElements.add(filled(settings, given, detection.get()), ranks);
    }

    /** Reads the file. As in NCCL, ranks in a file under NCCL's name are those of the job that wrote the file. */
    private static Optional<XmlElement> given(Settings settings) {
        Optional<Path> file = settings.get(TopologySettings.TOPO_FILE);
        if (!settings.origin(TopologySettings.TOPO_FILE).isOfNccl()) {
            return file.map(TopologyXmlReader::read);
        }
        try {
            return file.map(TopologyXmlReader::read).map(HostElements::withoutRanks);
        } catch (TopologyException e) {
            warnIgnored(settings, e);
            return Optional.empty();
        }
    }

    private static XmlElement filled(Settings settings, Optional<XmlElement> given, XmlElement found) {
        if (given.isEmpty()) {
            return found;
        }
        if (!settings.origin(TopologySettings.TOPO_FILE).isOfNccl()) {
            return DescriptionMerge.merge(given.get(), found);
        }
        try {
            XmlElement filled = DescriptionMerge.merge(given.get(), found);
            GraphBuilder.build(filled); // refuses what is there twice
            return filled;
        } catch (TopologyException e) {
            warnIgnored(settings, e);
            return found;
        }
    }

    private static void warnIgnored(Settings settings, TopologyException e) {
        LoggedOnce.warn(
                TopologySource.class,
                file(settings) + " (from environment): " + e.getMessage()
                        + "; the file is ignored, and what is found on this host is used instead");
    }
}
