package io.jccl.config;

import static io.jccl.config.ValueTypes.choice;
import static io.jccl.config.ValueTypes.distance;
import static io.jccl.config.ValueTypes.flag;
import static io.jccl.config.ValueTypes.integer;
import static io.jccl.config.ValueTypes.optional;
import static io.jccl.config.ValueTypes.size;
import static io.jccl.config.ValueTypes.text;
import static io.jccl.config.ValueTypes.withNccl;
import static io.jccl.config.ValueTypes.word;

import io.jccl.Encryption;
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
                    text("names of interfaces, beginnings of names or CIDR blocks, separated by commas; = in front for"
                            + " exact names, ^ to exclude them"),
                    NcclLists::interfaces),
            "",
            "The network interfaces to use: names, beginnings of names or CIDR blocks separated by commas; `=` in front"
                    + " for exact names, `^` in front to exclude the listed interfaces. Data goes over all interfaces"
                    + " that a list without `^` names: channels and TCP connections use them in turn. Otherwise data"
                    + " goes over the best interface that reaches the other ranks, in this order: network cards, VPNs,"
                    + " networks of containers, link-local addresses.");

    public static final Setting<String> SOCKET_FAMILY = GROUP.add(
            "JCCL_SOCKET_FAMILY",
            "NCCL_SOCKET_FAMILY",
            word("AF_INET", "AF_INET6"),
            "",
            "The address family: only IPv4 (`AF_INET`) or only IPv6 (`AF_INET6`). Unset: both, IPv4 first.");

    public static final Setting<Integer> SOCKET_NTHREADS = GROUP.add(
            "JCCL_SOCKET_NTHREADS",
            "NCCL_SOCKET_NTHREADS",
            integer(0, 16),
            0,
            "The number of threads of a communicator that move data over TCP, including the thread that waits for the"
                    + " data. Must be the same on all ranks. More than 1 helps if cores are idle and the network is"
                    + " faster than one core can copy. 0: as many as the links between hosts need, if the ranks have"
                    + " so many cores.");

    public static final Setting<Integer> NSOCKS_PERTHREAD = GROUP.add(
            "JCCL_NSOCKS_PERTHREAD",
            "NCCL_NSOCKS_PERTHREAD",
            integer(0, 16),
            0,
            "The number of TCP connections that carry one connection between two ranks, for each thread of"
                    + " `JCCL_SOCKET_NTHREADS`: at most 64 for all threads together. Must be the same on all ranks."
                    + " 0: one for each 10 Gbit/s of the links between hosts, at most 16 for all threads together.");

    /** Why a transport that cannot encrypt is not used. */
    public static final String ENCRYPTION_EXCLUDES = "JCCL_ENCRYPTION=required, and JCCL does not encrypt its data";

    /** The largest number of TCP connections that carry one connection between two ranks. */
    public static final int MAX_STREAMS = 64;

    public static final Setting<Encryption> ENCRYPTION = GROUP.add(
            "JCCL_ENCRYPTION",
            "",
            choice(Encryption.class),
            Encryption.OFF,
            "`on`: all TCP connections of the job are encrypted and authenticated (docs/security.md); a warning names"
                    + " what is not, such as InfiniBand verbs and plug-ins. `required`: in addition, what cannot be"
                    + " encrypted is not used, and a guessable secret is an error. `off`: connections are authenticated"
                    + " when they are made, and not encrypted. Must be the same on all ranks.");

    public static final Setting<Optional<String>> NET_GDR_LEVEL = GROUP.add(
            "JCCL_NET_GDR_LEVEL",
            "NCCL_NET_GDR_LEVEL",
            optional(distance()),
            Optional.empty(),
            "The farthest type of path (docs/paths.md) over which a network card uses the memory of a GPU (GPUDirect"
                    + " RDMA); data of GPUs farther away goes through host memory. Unset: PXB.");

    public static final Setting<Integer> NET_GDR_BUFFSIZE = GROUP.add(
            "JCCL_NET_GDR_BUFFSIZE",
            "",
            size(0, 1024 * MIB),
            256 * MIB,
            "The maximum of GPU memory of one communicator for slots that network cards reach (GPUDirect RDMA), in"
                    + " addition to the slots of rings and trees: slots for sends, receives and the algorithm `direct`."
                    + " Ranks with the nearest numbers come first; data to and from the other ranks goes through host"
                    + " memory. A connection takes `JCCL_BUFFSIZE`. A connection through another rank's GPU (PXN)"
                    + " counts here, and takes the memory of that GPU.");

    public static final Setting<Optional<Boolean>> NET_GDR_READ = GROUP.add(
            "JCCL_NET_GDR_READ",
            "NCCL_NET_GDR_READ",
            optional(flag()),
            Optional.empty(),
            "1: network cards also send from GPU memory; 0: they only receive into it. Unset: 1 if the GPU has compute"
                    + " capability 8.0 or later, has an NVLink to another GPU, or is the only GPU of its host.");

    public static final Setting<Boolean> NET_GDR_C2C = GROUP.add(
            "JCCL_NET_GDR_C2C",
            "NCCL_NET_GDR_C2C",
            flag(),
            true,
            "1: network cards of a CPU use the memory of GPUs that have a chip-to-chip link to this CPU.");

    public static final Setting<String> NET_PLUGIN = GROUP.add(
            "JCCL_NET_PLUGIN",
            List.of(NcclNet.NAME, "NCCL_NET_PLUGIN"),
            withNccl(
                    text("none, or plug-ins separated by commas, each a path, the name of a library, or NAME of"
                            + " libnccl-net-NAME.so"),
                    NcclNet::plugin),
            "",
            "The network plug-in with NCCL's interface (versions 6 to 12) that connects hosts: the path of its library,"
                    + " the name of the library, or NAME of `libnccl-net-NAME.so`. Of several plug-ins, separated by"
                    + " commas, JCCL uses the first that works. `none`: no plug-in. Unset: `libnccl-net.so`, if the"
                    + " system's loader finds it. A warning names each listed plug-in that does not work. If none"
                    + " works, or not all ranks have the same one, ranks use InfiniBand verbs or sockets.");

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
     * Like {@link #netPlugins}, but ignores which transport the settings require, because the library of a plug-in can
     * have other uses than to join two ranks. The list is empty if encryption is required, because plug-ins do not
     * encrypt.
     */
    public static List<String> netPluginNames(Settings settings) {
        String names = settings.get(NET_PLUGIN);
        if (names.equalsIgnoreCase(NO_PLUGIN) || settings.get(ENCRYPTION) == Encryption.REQUIRED) {
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

    /** Returns true if a setting names a plug-in that is not used because encryption is required. */
    public static boolean encryptionExcludesPlugin(Settings settings) {
        String names = settings.get(NET_PLUGIN);
        return settings.get(ENCRYPTION) == Encryption.REQUIRED
                && !names.isBlank()
                && !names.equalsIgnoreCase(NO_PLUGIN);
    }

    /**
     * Checks the product of threads and connections of each.
     *
     * @throws IllegalArgumentException if the settings ask for more than {@link #MAX_STREAMS}
     */
    public static void checkStreams(Settings settings) {
        int threads = settings.get(SOCKET_NTHREADS);
        int each = settings.get(NSOCKS_PERTHREAD);
        if (threads * each > MAX_STREAMS) {
            throw new IllegalArgumentException(SOCKET_NTHREADS.name() + "=" + threads + " and "
                    + NSOCKS_PERTHREAD.name()
                    + "=" + each + " make " + threads * each + " TCP connections: expected at most " + MAX_STREAMS
                    + "; lower one of them");
        }
    }

    static List<Setting<?>> all() {
        return GROUP.settings();
    }
}
