package io.jccl.config;

import static io.jccl.config.ValueTypes.flag;
import static io.jccl.config.ValueTypes.integer;
import static io.jccl.config.ValueTypes.text;
import static io.jccl.config.ValueTypes.withNccl;
import static io.jccl.config.ValueTypes.word;

import io.jccl.Encryption;
import io.jccl.TransportKind;
import java.util.List;
import java.util.Optional;

/** Settings of InfiniBand verbs. */
public final class IbSettings {

    private static final SettingGroup GROUP = new SettingGroup("InfiniBand and RoCE");

    public static final Setting<Boolean> IB_DISABLE = GROUP.add(
            "JCCL_IB_DISABLE",
            List.of(NcclNet.NAME, "NCCL_IB_DISABLE"),
            withNccl(flag(), NcclNet::verbs),
            false,
            "1: ranks do not use InfiniBand verbs; they use sockets.");

    /**
     * Returns true if the settings allow verbs on hosts with adapters: they do not disable verbs, and do not require
     * another transport.
     */
    public static boolean tried(Settings settings) {
        Optional<TransportKind> only = settings.get(TransportSettings.TRANSPORT);
        return !settings.get(IB_DISABLE)
                && settings.get(NetworkSettings.ENCRYPTION) != Encryption.REQUIRED
                && (only.isEmpty() || only.get() == TransportKind.IB);
    }

    public static final Setting<String> IB_HCA = GROUP.add(
            "JCCL_IB_HCA",
            "NCCL_IB_HCA",
            withNccl(
                    text("names of adapters or beginnings of names, separated by commas, each with an optional :port;"
                            + " = in front for exact names, ^ to exclude them"),
                    NcclLists::adapters),
            "",
            "The adapters to use: names or beginnings of names separated by commas, each with `:PORT` if only this port"
                    + " is meant; `=` in front for exact names, `^` in front to exclude the listed adapters, as in"
                    + " `^=mlx5_3:1`. Unset: all adapters that are up.");

    public static final Setting<Integer> IB_GID_INDEX = GROUP.add(
            "JCCL_IB_GID_INDEX",
            "NCCL_IB_GID_INDEX",
            integer(-1, 255),
            -1,
            "The index of the GID that RoCE connections use. -1: JCCL chooses a GID of the version in"
                    + " `JCCL_IB_ROCE_VERSION_NUM` that is an address of the port's own network interface.");

    public static final Setting<Integer> IB_ROCE_VERSION_NUM = GROUP.add(
            "JCCL_IB_ROCE_VERSION_NUM",
            "NCCL_IB_ROCE_VERSION_NUM",
            integer(1, 2),
            2,
            "The RoCE version of the GIDs that JCCL prefers when it chooses the GID index.");

    public static final Setting<String> IB_ADDR_FAMILY = GROUP.add(
            "JCCL_IB_ADDR_FAMILY",
            "NCCL_IB_ADDR_FAMILY",
            word("AF_INET", "AF_INET6"),
            "AF_INET",
            "The address family that JCCL prefers when it chooses the GID index: IPv4 (`AF_INET`) or IPv6"
                    + " (`AF_INET6`).");

    public static final Setting<Integer> IB_TIMEOUT = GROUP.add(
            "JCCL_IB_TIMEOUT",
            "NCCL_IB_TIMEOUT",
            integer(0, 31),
            20,
            "A queue pair waits 4.096 µs · 2^value for an acknowledgement before it tries again. 0: it waits for"
                    + " ever.");

    public static final Setting<Integer> IB_RETRY_CNT = GROUP.add(
            "JCCL_IB_RETRY_CNT",
            "NCCL_IB_RETRY_CNT",
            integer(0, 7),
            7,
            "How often a queue pair tries again before the operation fails. With 7, Soft-RoCE tries for ever.");

    public static final Setting<Integer> IB_TC = GROUP.add(
            "JCCL_IB_TC",
            "NCCL_IB_TC",
            integer(0, 255),
            0,
            "The traffic class of RoCE packets (its upper six bits are the DSCP).");

    public static final Setting<Integer> IB_SL =
            GROUP.add("JCCL_IB_SL", "NCCL_IB_SL", integer(0, 15), 0, "The service level of InfiniBand packets.");

    public static final Setting<Integer> IB_PKEY = GROUP.add(
            "JCCL_IB_PKEY",
            "NCCL_IB_PKEY",
            integer(0, 65535),
            0,
            "The index of the partition key in the port's table.");

    public static final Setting<Integer> IB_QPS_PER_CONNECTION = GROUP.add(
            "JCCL_IB_QPS_PER_CONNECTION",
            "NCCL_IB_QPS_PER_CONNECTION",
            integer(1, 16),
            1,
            "The number of queue pairs that carry one connection between two ranks. With several, a fabric that hashes"
                    + " flows uses several paths. Must be the same on all ranks.");

    public static final Setting<Boolean> IB_SPLIT_DATA_ON_QPS = GROUP.add(
            "JCCL_IB_SPLIT_DATA_ON_QPS",
            "NCCL_IB_SPLIT_DATA_ON_QPS",
            flag(),
            false,
            "1: every message is split over all queue pairs of its connection; 0: the queue pairs carry whole"
                    + " messages in rotation. Must be the same on all ranks.");

    public static final Setting<Boolean> IB_PCI_RELAXED_ORDERING = GROUP.add(
            "JCCL_IB_PCI_RELAXED_ORDERING",
            "NCCL_IB_PCI_RELAXED_ORDERING",
            flag(),
            true,
            "1: adapters that support relaxed ordering may write payload to memory in any order, which helps some"
                    + " processors. 0: they never do.");

    public static final Setting<String> IB_LIBRARY = GROUP.add(
            "JCCL_IB_LIBRARY",
            "",
            text("the name or path of a library"),
            "libibverbs.so.1",
            "The library of InfiniBand verbs, which JCCL opens at run time. If it is missing, ranks use sockets.");

    private IbSettings() {}

    /** Returns true if any of these settings is set, except the one that turns verbs off. */
    public static boolean areSet(Settings settings) {
        return all().stream()
                .anyMatch(one -> one != IB_DISABLE && settings.origin(one).source() != Origin.Source.DEFAULT);
    }

    static List<Setting<?>> all() {
        return GROUP.settings();
    }
}
