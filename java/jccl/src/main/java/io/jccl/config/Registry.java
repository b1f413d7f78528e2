package io.jccl.config;

import static io.jccl.config.ValueTypes.choiceOrAuto;
import static io.jccl.config.ValueTypes.distance;
import static io.jccl.config.ValueTypes.duration;
import static io.jccl.config.ValueTypes.flag;
import static io.jccl.config.ValueTypes.integer;
import static io.jccl.config.ValueTypes.integers;
import static io.jccl.config.ValueTypes.longInteger;
import static io.jccl.config.ValueTypes.multiple;
import static io.jccl.config.ValueTypes.optional;
import static io.jccl.config.ValueTypes.path;
import static io.jccl.config.ValueTypes.selection;
import static io.jccl.config.ValueTypes.size;
import static io.jccl.config.ValueTypes.text;
import static io.jccl.config.ValueTypes.word;

import io.jccl.Algorithm;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Every setting that JCCL has. */
public final class Registry {

    /** The most channels that a communicator can have. */
    public static final int MAX_CHANNELS = 64;

    private static final List<Setting<?>> COLLECTED = new ArrayList<>();

    private static final Duration MILLISECOND = Duration.ofMillis(1);
    private static final Duration YEAR = Duration.ofDays(365);
    private static final int KIB = 1024;
    private static final int MIB = 1024 * KIB;

    private static final String LAUNCH = "Launch";
    private static final String TIME = "Time";
    private static final String CHOICE = "Algorithms, protocols and channels";
    private static final String MEMORY = "Memory";
    private static final String TRANSPORT_GROUP = "Transports";
    private static final String NETWORK = "Network";
    private static final String IB = "InfiniBand and RoCE";
    private static final String TOPOLOGY = "Topology";
    private static final String COMMAND = "The jccl command";

    /** This process's rank. */
    public static final Setting<Optional<Integer>> RANK = add(
            LAUNCH,
            "JCCL_RANK",
            "",
            optional(integer(0, Integer.MAX_VALUE - 1)),
            Optional.empty(),
            "This process's rank, from 0. Read by `Communicator.fromEnvironment` together with `JCCL_SIZE` and"
                    + " `JCCL_RENDEZVOUS`; without all three the launcher's own variables are used.");

    /** The number of ranks. */
    public static final Setting<Optional<Integer>> SIZE = add(
            LAUNCH,
            "JCCL_SIZE",
            "",
            optional(integer(1, Integer.MAX_VALUE)),
            Optional.empty(),
            "The number of ranks of the job.");

    /** This process's rank among those of its machine. */
    public static final Setting<Optional<Integer>> LOCAL_RANK = add(
            LAUNCH,
            "JCCL_LOCAL_RANK",
            "",
            optional(integer(0, Integer.MAX_VALUE - 1)),
            Optional.empty(),
            "This process's rank among those of its machine.");

    /** The number of ranks on this process's machine. */
    public static final Setting<Optional<Integer>> LOCAL_SIZE = add(
            LAUNCH,
            "JCCL_LOCAL_SIZE",
            "",
            optional(integer(1, Integer.MAX_VALUE)),
            Optional.empty(),
            "The number of ranks on this process's machine; where it is not set it is found while ranks meet.");

    /** Where rank 0 waits for the others. */
    public static final Setting<Optional<String>> RENDEZVOUS = add(
            LAUNCH,
            "JCCL_RENDEZVOUS",
            "",
            optional(text("HOST:PORT of rank 0, or the text of a UniqueId")),
            Optional.empty(),
            "Where rank 0 waits for the others: `HOST:PORT`, or the text of a `UniqueId`.");

    /** Which machine this rank is on. */
    public static final Setting<Optional<String>> HOST_ID = add(
            LAUNCH,
            "JCCL_HOST_ID",
            "NCCL_HOSTID",
            optional(text("a name of up to 256 characters")),
            Optional.empty(),
            "Which machine this rank is on, instead of the kernel's boot id: ranks with the same id share one. Different"
                    + " ids on one machine make it act several.");

    /** How long an operation may take. */
    public static final Setting<Duration> TIMEOUT = add(
            TIME,
            "JCCL_TIMEOUT",
            "",
            duration(MILLISECOND, YEAR),
            Duration.ofMinutes(5),
            "How long one operation may take before it fails on every rank with the ranks that never entered it.");

    /** How long forming a communicator may take. */
    public static final Setting<Duration> INIT_TIMEOUT = add(
            TIME,
            "JCCL_INIT_TIMEOUT",
            "",
            duration(MILLISECOND, YEAR),
            Duration.ofMinutes(2),
            "How long forming a communicator may take before it fails with the ranks that it waits for.");

    /** How often ranks say that they live. */
    public static final Setting<Duration> HEARTBEAT_INTERVAL = add(
            TIME,
            "JCCL_HEARTBEAT_INTERVAL",
            "",
            duration(Duration.ofMillis(10), Duration.ofHours(1)),
            Duration.ofMillis(500),
            "How often each rank tells the coordinator on rank 0 that it lives, and the other way round.");

    /** The silence after which a rank counts as failed. */
    public static final Setting<Duration> HEARTBEAT_TIMEOUT = add(
            TIME,
            "JCCL_HEARTBEAT_TIMEOUT",
            "",
            duration(Duration.ofMillis(20), Duration.ofDays(1)),
            Duration.ofSeconds(20),
            "The silence after which a rank counts as failed; at least twice `JCCL_HEARTBEAT_INTERVAL`. A process that"
                    + " ends is noticed at once, whatever this says: the silence finds machines that vanish.");

    /** How long a waiter spins. */
    public static final Setting<Long> SPIN_NANOS = add(
            TIME,
            "JCCL_SPIN_NANOS",
            "",
            longInteger(-1, 10_000_000_000L),
            -1L,
            "How many nanoseconds a waiting thread spins before it yields and then sleeps; -1 chooses by the number of"
                    + " ranks and processors of the machine.");

    /** Whether ranks that outnumber the processors spread over them. */
    public static final Setting<Boolean> SPREAD_RANKS = add(
            TIME,
            "JCCL_SPREAD_RANKS",
            "",
            flag(),
            true,
            "Where ranks outnumber processors, a rank moves from a processor with too many of them to one with fewer. It"
                    + " may run wherever it could before; a rank bound to one processor stays there. `0`: the system alone"
                    + " places the ranks.");

    /** Which algorithms may be used. */
    public static final Setting<String> ALGO = add(
            CHOICE,
            "JCCL_ALGO",
            "NCCL_ALGO",
            selection(Algorithm.class),
            "",
            "Which algorithms may be used. `auto` lets the cost model choose for each operation.");

    /** Which protocols may be used. */
    public static final Setting<String> PROTO = add(
            CHOICE,
            "JCCL_PROTO",
            "NCCL_PROTO",
            selection(Protocol.class),
            "",
            "Which protocols may be used. `auto` lets the cost model choose for each operation.");

    /** The GPU of this rank. */
    public static final Setting<Optional<Integer>> DEVICE = add(
            CHOICE,
            "JCCL_DEVICE",
            "",
            optional(integer(0, 1023)),
            Optional.empty(),
            "The GPU of this rank by its number in this process, so that its operations take device memory. All ranks of a"
                    + " communicator have one, or none has; several may share one.");

    /** At least so many channels. */
    public static final Setting<Integer> MIN_NCHANNELS = add(
            CHOICE,
            "JCCL_MIN_NCHANNELS",
            List.of("NCCL_MIN_NCHANNELS", "NCCL_MIN_CTAS", "NCCL_MIN_NRINGS"),
            integer(0, MAX_CHANNELS),
            0,
            "At least so many channels; 0 is no bound. Every channel beyond the first has a thread on the host.");

    /** At most so many channels. */
    public static final Setting<Integer> MAX_NCHANNELS = add(
            CHOICE,
            "JCCL_MAX_NCHANNELS",
            List.of("NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", "NCCL_MAX_NRINGS"),
            integer(0, MAX_CHANNELS),
            0,
            "At most so many channels; 0 is no bound.");

    /** Whether rings may change network devices. */
    public static final Setting<Integer> CROSS_NIC = add(
            CHOICE,
            "JCCL_CROSS_NIC",
            "NCCL_CROSS_NIC",
            integer(0, 2),
            2,
            "Whether a ring may leave a machine by another network device than it came in by. 0: never, all traffic of a rail"
                    + " stays on it; 1: wherever it gives no less bandwidth; 2: where it gives more.");

    /** Threads of a GPU's channel. */
    public static final Setting<Integer> NTHREADS = add(
            CHOICE,
            "JCCL_NTHREADS",
            "NCCL_NTHREADS",
            multiple(0, 1024, 32),
            0,
            "How many threads each channel of a GPU has: whole warps of 32; 0 chooses for each protocol. The more, the more"
                    + " bytes an operation needs before it uses a further channel (`JCCL_THREAD_THRESHOLDS`).");

    /** The size of a step. */
    public static final Setting<Integer> CHUNK_BYTES = add(
            CHOICE,
            "JCCL_CHUNK_BYTES",
            "",
            size(0, 64 * MIB),
            0,
            "How many bytes travel in one step; 0 chooses for each operation. Never more than a slot holds.");

    /** The constants of the cost model. */
    public static final Setting<Optional<Path>> HOST_COSTS = add(
            CHOICE,
            "JCCL_HOST_COSTS",
            "",
            optional(path("a file that `jccl tune` wrote")),
            Optional.empty(),
            "A file with the constants of the cost model, as `jccl tune -o FILE` writes it, to use instead of the built-in"
                    + " ones; must have the same content on all ranks.");

    /** Where LL128 may be used between GPUs. */
    public static final Setting<String> LL128 = add(
            CHOICE,
            "JCCL_LL128",
            "",
            word("off", "auto", "force"),
            "auto",
            "Whether the protocol LL128 may be used between GPUs. `auto`: on one machine over NVLink, between GPUs of one"
                    + " generation from compute capability 7.0 on, or of any from 9.0 on. `force`: everywhere; where a link"
                    + " tears 128-byte lines results are wrong and nothing says so. Between host ranks it always works.");

    /** Bytes per thread. */
    public static final Setting<List<Integer>> THREAD_THRESHOLDS = add(
            CHOICE,
            "JCCL_THREAD_THRESHOLDS",
            "NCCL_THREAD_THRESHOLDS",
            integers(6, -2, MIB),
            List.of(),
            "How many bytes each thread of a GPU's channel should have before a further channel is used: up to six numbers,"
                    + " for tree with LL, LL128 and SIMPLE, then for ring; a negative one leaves the built-in value (8, 8"
                    + " and 64; for ring with LL 8 times the number of ranks).");

    /** Memory of SIMPLE. */
    public static final Setting<Integer> BUFFSIZE = add(
            MEMORY,
            "JCCL_BUFFSIZE",
            "NCCL_BUFFSIZE",
            size(8 * KIB, 512 * MIB),
            2 * MIB,
            "Memory of one connection for the protocol SIMPLE, shared by 8 slots.");

    /** Memory of LL. */
    public static final Setting<Integer> LL_BUFFSIZE = add(
            MEMORY,
            "JCCL_LL_BUFFSIZE",
            "NCCL_LL_BUFFSIZE",
            size(8 * KIB, 64 * MIB),
            128 * KIB,
            "Memory of one connection for the protocol LL, shared by 8 slots; half of it carries data.");

    /** Memory of LL128. */
    public static final Setting<Integer> LL128_BUFFSIZE = add(
            MEMORY,
            "JCCL_LL128_BUFFSIZE",
            "NCCL_LL128_BUFFSIZE",
            size(8 * KIB, 64 * MIB),
            256 * KIB,
            "Memory of one connection for the protocol LL128, shared by 8 slots; 15 of 16 parts carry data.");

    /** The only transport that may be used. */
    public static final Setting<Optional<TransportKind>> TRANSPORT = add(
            TRANSPORT_GROUP,
            "JCCL_TRANSPORT",
            "",
            choiceOrAuto(TransportKind.class),
            Optional.empty(),
            "The only transport that may join two ranks. `auto` takes the first of p2p (threads of one process), shm"
                    + " (processes of one machine), ib (InfiniBand verbs) and socket that works.");

    /** No direct memory between threads. */
    public static final Setting<Boolean> P2P_DISABLE = add(
            TRANSPORT_GROUP,
            "JCCL_P2P_DISABLE",
            "NCCL_P2P_DISABLE",
            flag(),
            false,
            "1: ranks of one process do not use each other's memory directly, and no GPU that of another, over NVLink or"
                    + " PCI.");

    /** How far apart GPUs may be for peer-to-peer. */
    public static final Setting<Optional<String>> P2P_LEVEL = add(
            TRANSPORT_GROUP,
            "JCCL_P2P_LEVEL",
            "NCCL_P2P_LEVEL",
            optional(distance()),
            Optional.empty(),
            "The farthest that two GPUs may be apart to use each other's memory; farther ones go through host memory. Unset:"
                    + " PXB, or SYS for two GPUs on AMD.");

    /** No shared memory. */
    public static final Setting<Boolean> SHM_DISABLE = add(
            TRANSPORT_GROUP,
            "JCCL_SHM_DISABLE",
            "NCCL_SHM_DISABLE",
            flag(),
            false,
            "1: processes of one machine do not share memory; they use a network.");

    /** Which network interfaces. */
    public static final Setting<String> SOCKET_IFNAME = add(
            NETWORK,
            "JCCL_SOCKET_IFNAME",
            "NCCL_SOCKET_IFNAME",
            text(
                    "names (or beginnings of names, or CIDR blocks) of interfaces separated by commas; = in front for exact"
                            + " names, ^ for all others"),
            "",
            "Which network interfaces to use: names, beginnings of names or CIDR blocks separated by commas; `=` in front"
                    + " for exact names, `^` for all others. Empty ranks them: real ones before docker0, veth and link-local. Data"
                    + " goes over all interfaces that this names, in turn by channel and TCP connection; unnamed, over the best"
                    + " one that reaches the other ranks.");

    /** Which address family. */
    public static final Setting<String> SOCKET_FAMILY = add(
            NETWORK,
            "JCCL_SOCKET_FAMILY",
            "NCCL_SOCKET_FAMILY",
            word("AF_INET", "AF_INET6"),
            "",
            "Only IPv4 (`AF_INET`) or only IPv6 (`AF_INET6`); empty for both, IPv4 first.");

    /** TCP connections per connection. */
    public static final Setting<Integer> NSOCKS_PERTHREAD = add(
            NETWORK,
            "JCCL_NSOCKS_PERTHREAD",
            "NCCL_NSOCKS_PERTHREAD",
            integer(1, 16),
            1,
            "How many TCP connections carry one connection between two ranks; must be the same on all ranks.");

    /** No verbs. */
    public static final Setting<Boolean> IB_DISABLE = add(
            IB,
            "JCCL_IB_DISABLE",
            "NCCL_IB_DISABLE",
            flag(),
            false,
            "1: InfiniBand verbs are not used; networks are reached by sockets.");

    /** Which adapters. */
    public static final Setting<String> IB_HCA = add(
            IB,
            "JCCL_IB_HCA",
            "NCCL_IB_HCA",
            text(
                    "names (or beginnings of names) of adapters with an optional :port, separated by commas; = in front for exact"
                            + " names, ^ for all others"),
            "",
            "Which adapters to use: names or beginnings of names, each with `:PORT` if only that port is meant, separated by commas;"
                    + " `=` in front for exact names, `^` for all others, as in `^=mlx5_3:1`. Empty: all that are up.");

    /** Which GID. */
    public static final Setting<Integer> IB_GID_INDEX = add(
            IB,
            "JCCL_IB_GID_INDEX",
            "NCCL_IB_GID_INDEX",
            integer(-1, 255),
            -1,
            "The index of the GID that RoCE connections use. -1: the one that is an address of the port's own network interface and of"
                    + " the version that `JCCL_IB_ROCE_VERSION_NUM` says.");

    /** Which version of RoCE. */
    public static final Setting<Integer> IB_ROCE_VERSION_NUM = add(
            IB,
            "JCCL_IB_ROCE_VERSION_NUM",
            "NCCL_IB_ROCE_VERSION_NUM",
            integer(1, 2),
            2,
            "The version of RoCE whose GIDs are preferred where the index is chosen.");

    /** Which address family of GIDs. */
    public static final Setting<String> IB_ADDR_FAMILY = add(
            IB,
            "JCCL_IB_ADDR_FAMILY",
            "NCCL_IB_ADDR_FAMILY",
            word("AF_INET", "AF_INET6"),
            "AF_INET",
            "Which family of addresses is preferred where the GID index is chosen: IPv4 (`AF_INET`) or IPv6 (`AF_INET6`).");

    /** The wait for an acknowledgement. */
    public static final Setting<Integer> IB_TIMEOUT = add(
            IB,
            "JCCL_IB_TIMEOUT",
            "NCCL_IB_TIMEOUT",
            integer(0, 31),
            20,
            "A queue pair waits 4.096 µs · 2^timeout for an acknowledgement before it tries again; 0 waits for ever.");

    /** How often is tried again. */
    public static final Setting<Integer> IB_RETRY_CNT = add(
            IB,
            "JCCL_IB_RETRY_CNT",
            "NCCL_IB_RETRY_CNT",
            integer(0, 7),
            7,
            "How often a queue pair tries again before the operation fails. Soft-RoCE takes 7 for ever.");

    /** The traffic class. */
    public static final Setting<Integer> IB_TC = add(
            IB,
            "JCCL_IB_TC",
            "NCCL_IB_TC",
            integer(0, 255),
            0,
            "The traffic class of RoCE packets (its upper six bits are the DSCP).");

    /** The service level. */
    public static final Setting<Integer> IB_SL =
            add(IB, "JCCL_IB_SL", "NCCL_IB_SL", integer(0, 15), 0, "The service level of InfiniBand packets.");

    /** The partition. */
    public static final Setting<Integer> IB_PKEY = add(
            IB,
            "JCCL_IB_PKEY",
            "NCCL_IB_PKEY",
            integer(0, 65535),
            0,
            "The index of the partition key in the port's table.");

    /** Queue pairs per connection. */
    public static final Setting<Integer> IB_QPS_PER_CONNECTION = add(
            IB,
            "JCCL_IB_QPS_PER_CONNECTION",
            "NCCL_IB_QPS_PER_CONNECTION",
            integer(1, 16),
            1,
            "How many queue pairs carry one connection between two ranks, so that a fabric that hashes flows uses several ways; must be"
                    + " the same on all ranks.");

    /** Whether messages are split. */
    public static final Setting<Boolean> IB_SPLIT_DATA_ON_QPS = add(
            IB,
            "JCCL_IB_SPLIT_DATA_ON_QPS",
            "NCCL_IB_SPLIT_DATA_ON_QPS",
            flag(),
            false,
            "1: every message is split over all queue pairs of its connection; 0: messages take turns. Must be the same on all ranks.");

    /** Relaxed ordering. */
    public static final Setting<Boolean> IB_PCI_RELAXED_ORDERING = add(
            IB,
            "JCCL_IB_PCI_RELAXED_ORDERING",
            "NCCL_IB_PCI_RELAXED_ORDERING",
            flag(),
            true,
            "1: adapters that offer it may write payload to memory in any order, which helps some processors; 0: never.");

    /** Which library. */
    public static final Setting<String> IB_LIBRARY = add(
            IB,
            "JCCL_IB_LIBRARY",
            "",
            text("the name or path of a library"),
            "libibverbs.so.1",
            "The library of InfiniBand verbs, opened at run time; where it is missing, sockets are used.");

    /** How far a GPU may be from a card that uses its memory. */
    public static final Setting<Optional<String>> NET_GDR_LEVEL = add(
            NETWORK,
            "JCCL_NET_GDR_LEVEL",
            "NCCL_NET_GDR_LEVEL",
            optional(distance()),
            Optional.empty(),
            "The farthest that a GPU may be from a network card that uses its memory (GPUDirect RDMA); farther ones go through"
                    + " host memory. Unset: PXB.");

    /** Whether cards read GPU memory. */
    public static final Setting<Optional<Boolean>> NET_GDR_READ = add(
            NETWORK,
            "JCCL_NET_GDR_READ",
            "NCCL_NET_GDR_READ",
            optional(flag()),
            Optional.empty(),
            "1: network cards also send from GPU memory; 0: they only receive into it. Unset: 1 from compute capability 8.0 on,"
                    + " or where GPUs have NVLink, or where there is one GPU.");

    /** GPUDirect RDMA over chip-to-chip links. */
    public static final Setting<Boolean> NET_GDR_C2C = add(
            NETWORK,
            "JCCL_NET_GDR_C2C",
            "NCCL_NET_GDR_C2C",
            flag(),
            true,
            "1: network cards behind a CPU use the memory of GPUs that have a chip-to-chip link to it.");

    /** No NVLink through a neighbour. */
    public static final Setting<Boolean> NVB_DISABLE = add(
            TOPOLOGY,
            "JCCL_NVB_DISABLE",
            "NCCL_NVB_DISABLE",
            flag(),
            false,
            "1: GPUs without an NVLink to each other do not use that of a third.");

    /** No network through a neighbour. */
    public static final Setting<Boolean> PXN_DISABLE = add(
            TOPOLOGY,
            "JCCL_PXN_DISABLE",
            "NCCL_PXN_DISABLE",
            flag(),
            false,
            "1: GPUs do not send through the network card of a GPU that they reach by NVLink.");

    /** The network through a neighbour with a chip-to-chip link. */
    public static final Setting<Boolean> PXN_C2C = add(
            TOPOLOGY,
            "JCCL_PXN_C2C",
            "NCCL_PXN_C2C",
            flag(),
            true,
            "1: they may also do so where that GPU reaches its card over a chip-to-chip link and the CPU.");

    /** The topology instead of this machine's. */
    public static final Setting<Optional<Path>> TOPO_FILE = add(
            TOPOLOGY,
            "JCCL_TOPO_FILE",
            "NCCL_TOPO_FILE",
            optional(path("an XML file")),
            Optional.empty(),
            "An XML file that describes this machine. What it says counts; what it leaves out is looked for on the machine. One"
                    + " that names ranks is taken as it is.");

    /** Where to write the topology. */
    public static final Setting<Optional<Path>> TOPO_DUMP_FILE = add(
            TOPOLOGY,
            "JCCL_TOPO_DUMP_FILE",
            "NCCL_TOPO_DUMP_FILE",
            optional(path("a file that can be written")),
            Optional.empty(),
            "Where rank 0 of each machine writes the topology that it found, as XML.");

    /** Which library tells of GPUs. */
    public static final Setting<String> NVML_LIBRARY = add(
            TOPOLOGY,
            "JCCL_NVML_LIBRARY",
            "",
            text("auto, off, or the name or path of a library"),
            "auto",
            "The library that tells of GPUs and NVLinks: `auto` for the driver's own `libnvidia-ml.so.1`, `off` for none,"
                    + " or the name or path of another. Where none answers, GPUs are known by the kernel alone.");

    /** What the command logs. */
    public static final Setting<String> DEBUG = add(
            COMMAND,
            "JCCL_DEBUG",
            "",
            word("error", "warn", "info", "debug", "trace"),
            "warn",
            "What the `jccl` command writes to standard error. The library itself logs through SLF4J, to loggers below"
                    + " `io.jccl`, and leaves levels to the application.");

    /** How its JVMs are started. */
    public static final Setting<String> JAVA_OPTS = add(
            COMMAND,
            "JCCL_JAVA_OPTS",
            "",
            text("options of java separated by spaces"),
            "",
            "Further options for the JVM of the `jccl` command and of the ranks that `jccl perf` starts; programs"
                    + " of `jccl run` find the variable in their environment.");

    private static final List<Setting<?>> ALL = List.copyOf(COLLECTED);

    private Registry() {}

    /** All settings in the order of the documentation. */
    public static List<Setting<?>> all() {
        return ALL;
    }

    private static <T> Setting<T> add(
            String group, String name, String alias, ValueType<T> type, T defaultValue, String documentation) {
        return add(group, name, alias.isEmpty() ? List.of() : List.of(alias), type, defaultValue, documentation);
    }

    private static <T> Setting<T> add(
            String group, String name, List<String> aliases, ValueType<T> type, T defaultValue, String documentation) {
        Setting<T> setting = new Setting<>(name, aliases, group, type, defaultValue, documentation);
        COLLECTED.add(setting);
        return setting;
    }
}
