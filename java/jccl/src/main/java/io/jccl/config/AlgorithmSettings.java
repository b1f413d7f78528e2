package io.jccl.config;

import static io.jccl.config.ValueTypes.flag;
import static io.jccl.config.ValueTypes.integer;
import static io.jccl.config.ValueTypes.integers;
import static io.jccl.config.ValueTypes.multiple;
import static io.jccl.config.ValueTypes.optional;
import static io.jccl.config.ValueTypes.path;
import static io.jccl.config.ValueTypes.selection;
import static io.jccl.config.ValueTypes.size;
import static io.jccl.config.ValueTypes.wireFormat;
import static io.jccl.config.ValueTypes.withNccl;
import static io.jccl.config.ValueTypes.word;

import io.jccl.Algorithm;
import io.jccl.Protocol;
import io.jccl.WireFormat;
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
            "The number of this rank's GPU in this process; with a GPU, operations of the rank can use device memory."
                    + " Either all ranks of a communicator have a GPU, or none has. Several ranks can share one.");

    public static final Setting<WireFormat> WIRE_FORMAT = GROUP.add(
            "JCCL_WIRE_FORMAT",
            "",
            wireFormat(),
            WireFormat.EXACT,
            "The format in which float32 and float64 travel between hosts, unless an operation names one: in"
                    + " all-reduces, reduce-scatters, all-gathers and broadcasts on host memory. All but `exact` round"
                    + " ([compression](compression.md)). `:seed=N` at the end rounds at random instead of to nearest.");

    public static final Setting<Integer> MIN_NCHANNELS = GROUP.add(
            "JCCL_MIN_NCHANNELS",
            List.of("NCCL_MIN_NCHANNELS", "NCCL_MIN_CTAS", "NCCL_MIN_NRINGS"),
            integer(0, MAX_CHANNELS),
            0,
            "The minimum number of channels; 0: no minimum. Operations on host memory have at most 32 channels, and"
                    + " every channel beyond the first has a thread on the host.");

    public static final Setting<Integer> MAX_NCHANNELS = GROUP.add(
            "JCCL_MAX_NCHANNELS",
            List.of("NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", "NCCL_MAX_NRINGS"),
            integer(0, MAX_CHANNELS),
            0,
            "The maximum number of channels; 0: no maximum. On a GPU each channel takes a thread block, and JCCL takes"
                    + " at most 32: as many as the links between the GPUs need, if the GPU has them free.");

    public static final Setting<Integer> CROSS_NIC = GROUP.add(
            "JCCL_CROSS_NIC",
            "NCCL_CROSS_NIC",
            integer(0, 2),
            2,
            "Whether a ring may leave a host through another network device than the one through which it enters."
                    + " 0: never, so that all traffic of a rail stays on the rail; 1: if this does not reduce the"
                    + " bandwidth; 2: if this increases the bandwidth.");

    public static final Setting<Integer> NTHREADS = GROUP.add(
            "JCCL_NTHREADS",
            "NCCL_NTHREADS",
            multiple(0, 1024, 32),
            0,
            "The number of threads of each channel on a GPU, in whole warps of 32; 0: JCCL chooses for each protocol."
                    + " With more threads an operation needs more bytes before it uses another channel"
                    + " (`JCCL_THREAD_THRESHOLDS`).");

    public static final Setting<Integer> CHUNK_BYTES = GROUP.add(
            "JCCL_CHUNK_BYTES",
            "",
            size(0, 64 * MIB),
            0,
            "The size of a chunk: the number of bytes that travel in one pipeline step, at most the size of a slot."
                    + " 0: JCCL chooses for each operation.");

    public static final Setting<Optional<Path>> TUNING_PROFILE = GROUP.add(
            "JCCL_TUNING_PROFILE",
            "JCCL_HOST_COSTS",
            optional(path("a file that `jccl tune` wrote")),
            Optional.empty(),
            "A tuning profile: a file with constants of the cost model that `jccl tune -o FILE` wrote. Unset: the"
                    + " built-in constants. The content must be the same on all ranks.");

    public static final Setting<String> LL128 = GROUP.add(
            "JCCL_LL128",
            "",
            word("off", "auto", "force"),
            "auto",
            "Whether the protocol LL128 may be used between GPUs. `auto`: on one host over NVLink, if all GPUs are of"
                    + " one generation from compute capability 7.0 on, or all are of 9.0 or later; not if ranks share a"
                    + " GPU, because this has not been measured. `force`: everywhere; if a link tears 128-byte lines,"
                    + " results are wrong without any error. Between host ranks LL128 always works.");

    public static final Setting<Integer> NVLS_ENABLE = GROUP.add(
            "JCCL_NVLS_ENABLE",
            "NCCL_NVLS_ENABLE",
            withNccl(integer(0, 2), (name, text, plain) -> plain.map(mode -> mode == 1 ? 2 : mode)),
            2,
            "Whether the NVLink switch between GPUs may reduce and multicast (algorithm `nvls`). 0: never. 1: it must;"
                    + " if it cannot, initialisation fails with the reason. 2: if it can. The switch can if all ranks"
                    + " are on one host, each with its own GPU of compute capability 9.0 or later, if all these GPUs"
                    + " are connected to NVSwitch, and if the driver supports CUDA 12.1 or later. `NCCL_NVLS_ENABLE=1`"
                    + " means 2, as in NCCL.");

    public static final Setting<Integer> NVLS_CHUNKSIZE = GROUP.add(
            "JCCL_NVLS_CHUNKSIZE",
            "NCCL_NVLS_CHUNKSIZE",
            size(4096, 16 * MIB),
            128 * 1024,
            "The number of bytes of a channel that go through the NVLink switch at a time. Must be the same on all"
                    + " ranks. Each rank needs three times this memory for each channel.");

    public static final Setting<Boolean> COLLNET_ENABLE = GROUP.add(
            "JCCL_COLLNET_ENABLE",
            "NCCL_COLLNET_ENABLE",
            flag(),
            false,
            "1: the network between hosts may reduce (CollNet, algorithms `collnetdirect` and `collnetchain`), through"
                    + " the plug-in of `JCCL_NET_PLUGIN`. If a rank cannot use the plug-in, no rank uses CollNet, and a"
                    + " warning gives the reason. On GPU memory `collnetdirect` supports all-reduce only.");

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
            "The minimum number of bytes for each thread of a channel on a GPU before another channel is used: up to"
                    + " six numbers, for the tree with LL, LL128 and SIMPLE, then for the ring with LL, LL128 and"
                    + " SIMPLE. A missing or negative number means the built-in value: 8, 8 and 64; for the ring with"
                    + " LL 8 times the number of ranks.");

    private AlgorithmSettings() {}

    static List<Setting<?>> all() {
        return GROUP.settings();
    }
}
