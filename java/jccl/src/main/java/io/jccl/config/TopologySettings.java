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
            "1: GPUs without an NVLink to each other do not use that of a third.");

    public static final Setting<Boolean> PXN_DISABLE = GROUP.add(
            "JCCL_PXN_DISABLE",
            "NCCL_PXN_DISABLE",
            flag(),
            false,
            "1: GPUs do not send through the network card of a GPU that they reach by NVLink.");

    public static final Setting<Boolean> PXN_C2C = GROUP.add(
            "JCCL_PXN_C2C",
            "NCCL_PXN_C2C",
            flag(),
            true,
            "1: they may also do so where that GPU reaches its card over a chip-to-chip link and the CPU.");

    public static final Setting<Optional<Path>> TOPO_FILE = GROUP.add(
            "JCCL_TOPO_FILE",
            "NCCL_TOPO_FILE",
            optional(path("an XML file")),
            Optional.empty(),
            "An XML file that describes this host. What it says counts; JCCL detects on the host what it leaves out. One"
                    + " that names ranks is taken as it is.");

    public static final Setting<Optional<Path>> TOPO_DUMP_FILE = GROUP.add(
            "JCCL_TOPO_DUMP_FILE",
            "NCCL_TOPO_DUMP_FILE",
            optional(path("a file that can be written")),
            Optional.empty(),
            "Where rank 0 of each host writes the topology that it found, as XML.");

    public static final Setting<Optional<Path>> GRAPH_FILE = GROUP.add(
            "JCCL_GRAPH_FILE",
            "NCCL_GRAPH_FILE",
            optional(path("an XML file")),
            Optional.empty(),
            "An XML file with the channels over the GPUs of every host, in NCCL's form. What it leaves out is searched. Its"
                    + " content must be the same on all ranks.");

    public static final Setting<Optional<Path>> GRAPH_DUMP_FILE = GROUP.add(
            "JCCL_GRAPH_DUMP_FILE",
            "NCCL_GRAPH_DUMP_FILE",
            optional(path("a file that can be written")),
            Optional.empty(),
            "Where rank 0 writes the channels over the GPUs of its host, as XML that `JCCL_GRAPH_FILE` reads.");

    public static final Setting<String> NVML_LIBRARY = GROUP.add(
            "JCCL_NVML_LIBRARY",
            "",
            text("auto, off, or the name or path of a library"),
            "auto",
            "The library that reports GPUs and NVLinks: `auto` for the driver's own `libnvidia-ml.so.1`, `off` for none,"
                    + " or the name or path of another. Where none answers, GPUs are known by the kernel alone.");

    private TopologySettings() {}

    static List<Setting<?>> all() {
        return GROUP.settings();
    }
}
