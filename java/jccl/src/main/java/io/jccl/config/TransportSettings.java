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
            "The only transport that may connect two ranks. `auto`: the first one that works of p2p (threads of one"
                    + " process), shm (processes of one host), plugin (an NCCL network plug-in), ib (InfiniBand verbs)"
                    + " and socket.");

    public static final Setting<Boolean> P2P_DISABLE = GROUP.add(
            "JCCL_P2P_DISABLE",
            "NCCL_P2P_DISABLE",
            flag(),
            false,
            "1: ranks of one process do not use each other's memory directly, and GPUs do not use each other's memory"
                    + " over NVLink or PCI, even if ranks share a GPU.");

    public static final Setting<Optional<String>> P2P_LEVEL = GROUP.add(
            "JCCL_P2P_LEVEL",
            "NCCL_P2P_LEVEL",
            optional(distance()),
            Optional.empty(),
            "The farthest type of path (docs/paths.md) over which two GPUs use each other's memory; GPUs farther apart"
                    + " exchange data through host memory. Unset: PXB, or SYS on a host with AMD processors and two"
                    + " GPUs. Has no effect if the topology does not contain the GPUs of all ranks.");

    public static final Setting<Integer> CUMEM_ENABLE = GROUP.add(
            "JCCL_CUMEM_ENABLE",
            "NCCL_CUMEM_ENABLE",
            integer(-2, 1),
            1,
            "How JCCL shares its own device memory with other processes. 1, -1 or -2: it allocates the memory with"
                    + " cuMemCreate and passes file descriptors. 0, or if GPU or driver do not support this: it uses"
                    + " CUDA IPC's legacy handles.");

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
            "Host staging: the host executes operations on device memory, on copies in host memory, and no kernel waits"
                    + " for a peer. `auto`: on all ranks of a communicator if processes share a GPU without an MPS"
                    + " server, because the GPU then time-slices their kernels. `on`: always. `off`: never; if"
                    + " processes are time-sliced, every step of an operation then takes a time slice.");

    private TransportSettings() {}

    static List<Setting<?>> all() {
        return GROUP.settings();
    }
}
