package io.jccl.topology;

import io.jccl.config.Settings;
import io.jccl.config.TopologySettings;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Where the description of this host comes from: detection, and before it the file that the settings name. What the
 * file says counts; what it leaves out is filled with what detection finds. A file that names ranks is complete.
 */
public final class TopologySource {

    private TopologySource() {}

    /** What it is called: {@code this host}, or the file. */
    public static String name(Settings settings) {
        return settings.get(TopologySettings.TOPO_FILE)
                .map(file -> "JCCL_TOPO_FILE=" + file)
                .orElse("this host");
    }

    /**
     * The description with an endpoint for each rank. A file that names ranks itself is taken as it is.
     *
     * @param plugin the network plug-in that is used
     * @param ranks the ranks of this host that work on host memory
     * @throws TopologyException if the file is no acceptable description
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
     * @throws TopologyException if the file is no acceptable description
     */
    public static Optional<XmlElement> describeGpus(
            Settings settings, Optional<NetPlugin> plugin, Map<String, List<Integer>> ranks) {
        Optional<XmlElement> given = settings.get(TopologySettings.TOPO_FILE).map(TopologyXmlReader::read);
        if (given.filter(HostElements::namesRank).isPresent()) {
            return Optional.empty();
        }
        XmlElement found = SysfsDetector.detectThisHost(settings, plugin, List.of());
        return GpuElements.add(
                given.map(file -> DescriptionMerge.merge(file, found)).orElse(found), ranks);
    }

    /** @param detection finds the host without its ranks */
    static XmlElement describe(Settings settings, List<HostRank> ranks, Supplier<XmlElement> detection) {
        Optional<XmlElement> given = settings.get(TopologySettings.TOPO_FILE).map(TopologyXmlReader::read);
        if (given.filter(HostElements::namesRank).isPresent()) {
            return given.get();
        }
        XmlElement found = detection.get();
        return HostElements.add(
                given.map(file -> DescriptionMerge.merge(file, found)).orElse(found), ranks);
    }
}
