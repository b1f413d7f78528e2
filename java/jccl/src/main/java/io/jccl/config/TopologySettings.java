package io.jccl.config;

import static io.jccl.config.ValueTypes.flag;
import static io.jccl.config.ValueTypes.optional;
import static io.jccl.config.ValueTypes.path;
import static io.jccl.config.ValueTypes.text;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Settings of the description of hosts and of the paths through them. */
public final class TopologySettings {

    private static final SettingGroup GROUP = new SettingGroup("Topology");

    public static final Setting<Boolean> NVB_DISABLE = GROUP.add(
            "JCCL_NVB_DISABLE",
            "NCCL_NVB_DISABLE",
            flag(),
            false,
            "1: GPUs without an NVLink to each other do not use the NVLinks of a third GPU.");

    public static final Setting<Boolean> PXN_DISABLE = GROUP.add(
            "JCCL_PXN_DISABLE",
            "NCCL_PXN_DISABLE",
            flag(),
            false,
            "1: GPUs do not use PXN: they do not send through the network card of a GPU that they reach by NVLink.");

    public static final Setting<Boolean> PXN_C2C = GROUP.add(
            "JCCL_PXN_C2C",
            "NCCL_PXN_C2C",
            flag(),
            true,
            "1: GPUs also use PXN through a GPU that reaches its network card over a chip-to-chip link and the CPU.");

    public static final Setting<Optional<Path>> TOPO_FILE = GROUP.add(
            "JCCL_TOPO_FILE",
            "NCCL_TOPO_FILE",
            optional(path("an XML file")),
            Optional.empty(),
            "An XML file that describes this host. Its values override those that JCCL detects; JCCL detects what the"
                    + " file omits. A file that assigns ranks is used alone.");

    public static final Setting<Optional<Path>> TOPO_DUMP_FILE = GROUP.add(
            "JCCL_TOPO_DUMP_FILE",
            "NCCL_TOPO_DUMP_FILE",
            optional(path("a file that can be written")),
            Optional.empty(),
            "The file to which the lowest rank of each host writes the host's topology, as XML.");

    public static final Setting<Optional<Path>> GRAPH_FILE = GROUP.add(
            "JCCL_GRAPH_FILE",
            "NCCL_GRAPH_FILE",
            optional(path("an XML file")),
            Optional.empty(),
            "An XML file in NCCL's format with the channels over the GPUs of every host. JCCL searches for the channels"
                    + " that the file omits. The content must be the same on all ranks.");

    public static final Setting<Optional<Path>> GRAPH_DUMP_FILE = GROUP.add(
            "JCCL_GRAPH_DUMP_FILE",
            "NCCL_GRAPH_DUMP_FILE",
            optional(path("a file that can be written")),
            Optional.empty(),
            "The file to which rank 0 writes the channels over the GPUs of its host, as XML that `JCCL_GRAPH_FILE`"
                    + " accepts.");

    public static final Setting<String> NVML_LIBRARY = GROUP.add(
            "JCCL_NVML_LIBRARY",
            "",
            text("auto, off, or the name or path of a library"),
            "auto",
            "The library that reports GPUs and NVLinks: `auto` for the driver's own `libnvidia-ml.so.1`, `off` for"
                    + " none, or the name or path of another. Without a library that answers, JCCL knows of GPUs only"
                    + " what the kernel reports.");

    private TopologySettings() {}

    static List<Setting<?>> all() {
        return GROUP.settings();
    }
}
