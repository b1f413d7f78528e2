package io.jccl.config;

import static io.jccl.config.ValueTypes.distance;
import static io.jccl.config.ValueTypes.flag;
import static io.jccl.config.ValueTypes.integer;
import static io.jccl.config.ValueTypes.optional;
import static io.jccl.config.ValueTypes.size;
import static io.jccl.config.ValueTypes.text;
import static io.jccl.config.ValueTypes.withNccl;
import static io.jccl.config.ValueTypes.word;

import io.jccl.TransportKind;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Settings of network interfaces, TCP connections, GPUDirect RDMA and network plug-ins. */
public final class NetworkSettings {

    private static final int MIB = 1024 * 1024;
    private static final SettingGroup GROUP = new SettingGroup("Network");

    public static final Setting<String> SOCKET_IFNAME = GROUP.add(
            "JCCL_SOCKET_IFNAME",
            "NCCL_SOCKET_IFNAME",
            withNccl(
                    text(
                            "names (or beginnings of names, or CIDR blocks) of interfaces separated by commas; = in front for"
                                    + " exact names, ^ for all others"),
                    NcclLists::interfaces),
            "",
            "Which network interfaces to use: names, beginnings of names or CIDR blocks separated by commas; `=` in front"
                    + " for exact names, `^` for all others. Empty ranks them: cards, VPNs, bridges of containers, link-local. Data"
                    + " goes over all interfaces that this names, in turn by channel and TCP connection; unnamed, over the best"
                    + " one that reaches the other ranks.");

    public static final Setting<String> SOCKET_FAMILY = GROUP.add(
            "JCCL_SOCKET_FAMILY",
            "NCCL_SOCKET_FAMILY",
            word("AF_INET", "AF_INET6"),
            "",
            "Only IPv4 (`AF_INET`) or only IPv6 (`AF_INET6`); empty for both, IPv4 first.");

    public static final Setting<Integer> SOCKET_NTHREADS = GROUP.add(
            "JCCL_SOCKET_NTHREADS",
            "NCCL_SOCKET_NTHREADS",
            integer(1, 16),
            1,
            "How many threads of a communicator move data over TCP, the one that waits for it among them; must be the same on"
                    + " all ranks. More than 1 pays where cores are idle and the network is faster than one core copies.");

    public static final Setting<Integer> NSOCKS_PERTHREAD = GROUP.add(
            "JCCL_NSOCKS_PERTHREAD",
            "NCCL_NSOCKS_PERTHREAD",
            integer(1, 16),
            1,
            "How many TCP connections carry one connection between two ranks, for each thread of `JCCL_SOCKET_NTHREADS`; at"
                    + " most 64 in all; must be the same on all ranks.");

    /** The largest number of TCP connections that carry one connection between two ranks. */
    static final int MAX_STREAMS = 64;

    public static final Setting<Optional<String>> NET_GDR_LEVEL = GROUP.add(
            "JCCL_NET_GDR_LEVEL",
            "NCCL_NET_GDR_LEVEL",
            optional(distance()),
            Optional.empty(),
            "The farthest that a GPU may be from a network card that uses its memory (GPUDirect RDMA); farther ones go through"
                    + " host memory. Unset: PXB.");

    public static final Setting<Integer> NET_GDR_BUFFSIZE = GROUP.add(
            "JCCL_NET_GDR_BUFFSIZE",
            "",
            size(0, 1024 * MIB),
            256 * MIB,
            "GPU memory of one communicator, at most, in which network cards reach the slots of connections beside those of"
                    + " rings and trees (GPUDirect RDMA): of sends, receives and direct schedules. The nearest ranks come"
                    + " first; to the others data goes through host memory. A connection takes `JCCL_BUFFSIZE`; one that"
                    + " leads through another rank's GPU (PXN) counts here and takes it there.");

    public static final Setting<Optional<Boolean>> NET_GDR_READ = GROUP.add(
            "JCCL_NET_GDR_READ",
            "NCCL_NET_GDR_READ",
            optional(flag()),
            Optional.empty(),
            "1: network cards also send from GPU memory; 0: they only receive into it. Unset: 1 from compute capability 8.0 on,"
                    + " or where GPUs have NVLink, or where there is one GPU.");

    public static final Setting<Boolean> NET_GDR_C2C = GROUP.add(
            "JCCL_NET_GDR_C2C",
            "NCCL_NET_GDR_C2C",
            flag(),
            true,
            "1: network cards behind a CPU use the memory of GPUs that have a chip-to-chip link to it.");

    public static final Setting<String> NET_PLUGIN = GROUP.add(
            "JCCL_NET_PLUGIN",
            List.of(NcclNet.NAME, "NCCL_NET_PLUGIN"),
            withNccl(
                    text("none, or names of plug-ins separated by commas: a path, the name of a library, or NAME of"
                            + " libnccl-net-NAME.so"),
                    NcclNet::plugin),
            "",
            "Which network plug-in for NCCL (versions 6 to 12 of its interface) joins hosts: a path to its library, the name of"
                    + " the library, or NAME of `libnccl-net-NAME.so`; of several, separated by commas, the first that can be"
                    + " used. `none`: no plug-in. Unset: `libnccl-net.so`, where the system's loader finds it. What cannot be"
                    + " used is a warning, and ranks use InfiniBand verbs or sockets; so they do where not all ranks have the"
                    + " same plug-in.");

    static final String NO_PLUGIN = "none";

    private NetworkSettings() {}

    /**
     * Returns the network plug-ins that may join ranks, in the order of {@link #NET_PLUGIN}; an empty name means the
     * default plug-in. The list is empty if the settings want no plug-in or require another transport.
     */
    public static List<String> netPlugins(Settings settings) {
        Optional<TransportKind> only = settings.get(TransportSettings.TRANSPORT);
        return only.isPresent() && only.get() != TransportKind.PLUGIN ? List.of() : netPluginNames(settings);
    }

    /**
     * Like {@link #netPlugins}, but whatever transport the settings require: a plug-in can do more than join two ranks.
     */
    public static List<String> netPluginNames(Settings settings) {
        String names = settings.get(NET_PLUGIN);
        if (names.equalsIgnoreCase(NO_PLUGIN)) {
            return List.of();
        }
        List<String> wanted = new ArrayList<>();
        for (String name : names.split(",", -1)) {
            if (!name.isBlank()) {
                wanted.add(name.strip());
            }
        }
        return wanted.isEmpty() ? List.of("") : wanted;
    }

    /**
     * Returns the number of TCP connections that carry one connection between two ranks.
     *
     * @throws IllegalArgumentException if there are more than {@link #MAX_STREAMS}
     */
    public static int streamsPerConnection(Settings settings) {
        int threads = settings.get(SOCKET_NTHREADS);
        int each = settings.get(NSOCKS_PERTHREAD);
        if (threads * each > MAX_STREAMS) {
            throw new IllegalArgumentException(SOCKET_NTHREADS.name() + "=" + threads + " and "
                    + NSOCKS_PERTHREAD.name()
                    + "=" + each + " make " + threads * each + " TCP connections: expected at most " + MAX_STREAMS
                    + "; lower one of them");
        }
        return threads * each;
    }

    static List<Setting<?>> all() {
        return GROUP.settings();
    }
}
