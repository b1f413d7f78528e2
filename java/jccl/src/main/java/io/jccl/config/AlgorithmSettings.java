package io.jccl.config;

import static io.jccl.config.ValueTypes.flag;
import static io.jccl.config.ValueTypes.integer;
import static io.jccl.config.ValueTypes.integers;
import static io.jccl.config.ValueTypes.multiple;
import static io.jccl.config.ValueTypes.optional;
import static io.jccl.config.ValueTypes.path;
import static io.jccl.config.ValueTypes.selection;
import static io.jccl.config.ValueTypes.size;
import static io.jccl.config.ValueTypes.withNccl;
import static io.jccl.config.ValueTypes.word;

import io.jccl.Algorithm;
import io.jccl.Protocol;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Settings of the algorithm, protocol and channels of operations, and of the device of the rank. */
public final class AlgorithmSettings {

    /** The largest number of channels that a communicator can have. */
    public static final int MAX_CHANNELS = 64;

    private static final int MIB = 1024 * 1024;
    private static final SettingGroup GROUP = new SettingGroup("Algorithms, protocols and channels");

    public static final Setting<String> ALGO = GROUP.add(
            "JCCL_ALGO",
            "NCCL_ALGO",
            selection(Algorithm.class),
            "",
            "Which algorithms may be used. `auto` lets the cost model choose for each operation.");

    public static final Setting<String> PROTO = GROUP.add(
            "JCCL_PROTO",
            "NCCL_PROTO",
            selection(Protocol.class),
            "",
            "Which protocols may be used. `auto` lets the cost model choose for each operation.");

    public static final Setting<Optional<Integer>> DEVICE = GROUP.add(
            "JCCL_DEVICE",
            "",
            optional(integer(0, 1023)),
            Optional.empty(),
            "The GPU of this rank by its number in this process, so that its operations take device memory. All ranks of a"
                    + " communicator have one, or none has; several may share one.");

    public static final Setting<Integer> MIN_NCHANNELS = GROUP.add(
            "JCCL_MIN_NCHANNELS",
            List.of("NCCL_MIN_NCHANNELS", "NCCL_MIN_CTAS", "NCCL_MIN_NRINGS"),
            integer(0, MAX_CHANNELS),
            0,
            "At least so many channels, on memory of the host 32 at most; 0 is no bound. Every channel beyond the first has a"
                    + " thread on the host.");

    public static final Setting<Integer> MAX_NCHANNELS = GROUP.add(
            "JCCL_MAX_NCHANNELS",
            List.of("NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", "NCCL_MAX_NRINGS"),
            integer(0, MAX_CHANNELS),
            0,
            "At most so many channels; 0 is no bound.");

    public static final Setting<Integer> CROSS_NIC = GROUP.add(
            "JCCL_CROSS_NIC",
            "NCCL_CROSS_NIC",
            integer(0, 2),
            2,
            "Whether a ring may leave a host by another network device than it came in by. 0: never, all traffic of a rail"
                    + " stays on it; 1: wherever it gives no less bandwidth; 2: where it gives more.");

    public static final Setting<Integer> NTHREADS = GROUP.add(
            "JCCL_NTHREADS",
            "NCCL_NTHREADS",
            multiple(0, 1024, 32),
            0,
            "How many threads each channel of a GPU has: whole warps of 32; 0 chooses for each protocol. The more, the more"
                    + " bytes an operation needs before it uses a further channel (`JCCL_THREAD_THRESHOLDS`).");

    public static final Setting<Integer> CHUNK_BYTES = GROUP.add(
            "JCCL_CHUNK_BYTES",
            "",
            size(0, 64 * MIB),
            0,
            "How many bytes travel in one step; 0 chooses for each operation. Never more than a slot holds.");

    public static final Setting<Optional<Path>> TUNING_PROFILE = GROUP.add(
            "JCCL_TUNING_PROFILE",
            "JCCL_HOST_COSTS",
            optional(path("a file that `jccl tune` wrote")),
            Optional.empty(),
            "A file with the constants of the cost model, as `jccl tune -o FILE` writes it, to use instead of the built-in"
                    + " ones; must have the same content on all ranks.");

    public static final Setting<String> LL128 = GROUP.add(
            "JCCL_LL128",
            "",
            word("off", "auto", "force"),
            "auto",
            "Whether the protocol LL128 may be used between GPUs. `auto`: on one host over NVLink, between GPUs of one"
                    + " generation from compute capability 7.0 on, or of any from 9.0 on; not between ranks that share a GPU,"
                    + " where it has not been measured. `force`: everywhere; where a link"
                    + " tears 128-byte lines results are wrong and nothing says so. Between host ranks it always works.");

    public static final Setting<Integer> NVLS_ENABLE = GROUP.add(
            "JCCL_NVLS_ENABLE",
            "NCCL_NVLS_ENABLE",
            withNccl(integer(0, 2), (name, text, plain) -> plain.map(mode -> mode == 1 ? 2 : mode)),
            2,
            "Whether the NVLink switch between GPUs may reduce and multicast (algorithm `nvls`): 0 never; 1 must be able to, or"
                    + " initialisation fails and says why; 2 where it can. It can on one host, between GPUs of their own of"
                    + " compute capability 9.0 or later that all hang on NVSwitch, with a driver for CUDA 12.1 or later. `NCCL_NVLS_ENABLE=1` means 2, as for NCCL.");

    public static final Setting<Integer> NVLS_CHUNKSIZE = GROUP.add(
            "JCCL_NVLS_CHUNKSIZE",
            "NCCL_NVLS_CHUNKSIZE",
            size(4096, 16 * MIB),
            128 * 1024,
            "How many bytes of a channel go through the NVLink switch at a time; the same on all ranks. Each rank takes three"
                    + " times as much memory for each channel.");

    public static final Setting<Boolean> COLLNET_ENABLE = GROUP.add(
            "JCCL_COLLNET_ENABLE",
            "NCCL_COLLNET_ENABLE",
            flag(),
            false,
            "1: the network between hosts may reduce (CollNet, algorithms `collnetdirect` and `collnetchain`), by a plug-in that"
                    + " `JCCL_NET_PLUGIN` names and every rank has. Where one has not, none uses it, and a warning says why."
                    + " On memory of GPUs `collnetdirect` is for all-reduces alone.");

    public static final Setting<Integer> COLLNET_NODE_THRESHOLD = GROUP.add(
            "JCCL_COLLNET_NODE_THRESHOLD",
            "NCCL_COLLNET_NODE_THRESHOLD",
            integer(0, 65_536),
            2,
            "With fewer hosts than this the network does not reduce.");

    public static final Setting<List<Integer>> THREAD_THRESHOLDS = GROUP.add(
            "JCCL_THREAD_THRESHOLDS",
            "NCCL_THREAD_THRESHOLDS",
            integers(6, -2, MIB),
            List.of(),
            "How many bytes each thread of a GPU's channel should have before a further channel is used: up to six numbers,"
                    + " for tree with LL, LL128 and SIMPLE, then for ring; a negative one leaves the built-in value (8, 8"
                    + " and 64; for ring with LL 8 times the number of ranks).");

    private AlgorithmSettings() {}

    static List<Setting<?>> all() {
        return GROUP.settings();
    }
}
