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
 * Supplies the description of this host: from detection and, if the settings name one, from a file. A value in the file
 * overrides the detected one; detection fills in what the file omits. A file that assigns ranks is used alone.
 */
public final class TopologySource {

    private static final String THIS_HOST = "this host";

    /**
     * The sources of network devices in addition to the kernel.
     *
     * @param plugin the network plug-in in use
     * @param reducing lists the devices whose network reduces; called only if this host is detected
     */
    public record Networks(Optional<NetPlugin> plugin, Supplier<List<ReducingDevice>> reducing) {

        /** No sources in addition to the kernel. */
        public static final Networks NONE = new Networks(Optional.empty(), List::of);

        private XmlElement detect(Settings settings) {
            return SysfsDetector.detectThisHost(settings, plugin, reducing.get(), List.of());
        }
    }

    private TopologySource() {}

    /**
     * Returns the name of the source: {@code SETTING=FILE}, or {@code this host} if no file is set or the file is
     * ignored.
     */
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
     * Returns the description with an endpoint for each rank. A file that assigns ranks is used unchanged, unless an
     * NCCL variable names it: then its ranks are dropped.
     *
     * @param networks the sources of network devices in addition to the kernel
     * @param ranks the ranks of this host that work on host memory
     * @throws TopologyException if the file is not a valid description and a JCCL setting names it
     */
    public static XmlElement describe(Settings settings, Networks networks, List<HostRank> ranks) {
        return describe(settings, ranks, () -> networks.detect(settings));
    }

    /**
     * Returns the description with the ranks' GPUs as their endpoints. Several ranks may share a GPU.
     *
     * @param networks the sources of network devices in addition to the kernel
     * @param ranks the ranks on each GPU, by its bus id in lower case
     * @return empty if one of these GPUs is not found, or if the file assigns ranks
     * @throws TopologyException if the file is not a valid description and a JCCL setting names it
     */
    public static Optional<XmlElement> describeGpus(
            Settings settings, Networks networks, Map<String, List<Integer>> ranks) {
        Optional<XmlElement> given = given(settings);
        if (given.filter(HostElements::namesRank).isPresent()) {
            return Optional.empty();
        }
        XmlElement found = networks.detect(settings);
        return GpuElements.add(filled(settings, given, found), ranks);
    }

    /** @param detection describes the host without its ranks */
    static XmlElement describe(Settings settings, List<HostRank> ranks, Supplier<XmlElement> detection) {
        Optional<XmlElement> given = given(settings);
        if (given.filter(HostElements::namesRank).isPresent()) {
            return given.get();
        }
        return HostElements.add(filled(settings, given, detection.get()), ranks);
    }

    /**
     * Reads the file. If an NCCL variable names the file, its ranks are dropped: as in NCCL, they are the ranks of the
     * job that wrote it.
     */
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
            GraphBuilder.build(filled); // refuses duplicate names
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
