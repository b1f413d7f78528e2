package io.jccl.config;

import static io.jccl.config.ValueTypes.choiceOrAuto;
import static io.jccl.config.ValueTypes.distance;
import static io.jccl.config.ValueTypes.flag;
import static io.jccl.config.ValueTypes.integer;
import static io.jccl.config.ValueTypes.optional;
import static io.jccl.config.ValueTypes.word;

import io.jccl.TransportKind;
import java.util.List;
import java.util.Optional;

/** Settings of the transports that may join two ranks. */
public final class TransportSettings {

    private static final SettingGroup GROUP = new SettingGroup("Transports");

    public static final Setting<Optional<TransportKind>> TRANSPORT = GROUP.add(
            "JCCL_TRANSPORT",
            "",
            choiceOrAuto(TransportKind.class),
            Optional.empty(),
            "The only transport that may join two ranks. `auto` takes the first of p2p (threads of one process), shm"
                    + " (processes of one host), plugin (a network plug-in for NCCL), ib (InfiniBand verbs) and socket that"
                    + " works.");

    public static final Setting<Boolean> P2P_DISABLE = GROUP.add(
            "JCCL_P2P_DISABLE",
            "NCCL_P2P_DISABLE",
            flag(),
            false,
            "1: ranks of one process do not use each other's memory directly, and no GPU that of another, over NVLink or"
                    + " PCI.");

    public static final Setting<Optional<String>> P2P_LEVEL = GROUP.add(
            "JCCL_P2P_LEVEL",
            "NCCL_P2P_LEVEL",
            optional(distance()),
            Optional.empty(),
            "The farthest that two GPUs may be apart to use each other's memory; farther ones go through host memory. Unset:"
                    + " PXB, or SYS for two GPUs on AMD.");

    public static final Setting<Integer> CUMEM_ENABLE = GROUP.add(
            "JCCL_CUMEM_ENABLE",
            "NCCL_CUMEM_ENABLE",
            integer(-2, 1),
            1,
            "Whether JCCL's own device memory is made by cuMemCreate and passed to other processes as file descriptors: 1 or -2,"
                    + " where GPU and driver can; 0, never, and CUDA IPC's legacy handles are used.");

    public static final Setting<Boolean> SHM_DISABLE = GROUP.add(
            "JCCL_SHM_DISABLE",
            "NCCL_SHM_DISABLE",
            flag(),
            false,
            "1: processes of one host do not share memory; they use a network.");

    public static final Setting<String> GPU_HOST_STAGING = GROUP.add(
            "JCCL_GPU_HOST_STAGING",
            "JCCL_GPU_STAGED",
            word("auto", "on", "off"),
            "auto",
            "Whether operations on device memory are staged through the host, which executes them, and no kernel waits for"
                    + " a peer. `auto`: where processes share a GPU without an MPS server, whose kernels are time-sliced;"
                    + " then all ranks of the communicator do. `off`: kernels everywhere; where processes are time-sliced every"
                    + " step of an operation takes a time slice.");

    private TransportSettings() {}

    static List<Setting<?>> all() {
        return GROUP.settings();
    }
}
