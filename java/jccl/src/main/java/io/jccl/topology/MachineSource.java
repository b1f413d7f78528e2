package io.jccl.topology;

import io.jccl.config.Registry;
import io.jccl.config.Settings;
import java.util.List;

/** Where the description of this machine comes from: the file that the settings name, or detection. */
public final class MachineSource {

    private MachineSource() {}

    /** What it is called: {@code this machine}, or the file. */
    public static String name(Settings settings) {
        return settings.get(Registry.TOPO_FILE)
                .map(file -> "JCCL_TOPO_FILE=" + file)
                .orElse("this machine");
    }

    /**
     * The description with an endpoint for each rank. A file that names ranks itself is taken as it is.
     *
     * @param ranks the ranks of this machine that work on host memory
     * @throws TopologyException if the file is no acceptable description
     */
    public static XmlElement describe(Settings settings, List<HostRank> ranks) {
        return settings.get(Registry.TOPO_FILE)
                .map(file -> HostElements.addWhereNone(TopologyXmlReader.read(file), ranks))
                .orElseGet(() -> SysfsDetector.detectThisMachine(settings, ranks));
    }
}
