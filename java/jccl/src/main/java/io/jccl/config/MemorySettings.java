package io.jccl.config;

import static io.jccl.config.ValueTypes.size;

import java.util.List;

/** Settings of the memory of connections and of staging. */
public final class MemorySettings {

    private static final int KIB = 1024;
    private static final int MIB = 1024 * KIB;
    private static final SettingGroup GROUP = new SettingGroup("Memory");

    public static final Setting<Integer> BUFFSIZE = GROUP.add(
            "JCCL_BUFFSIZE",
            "NCCL_BUFFSIZE",
            size(8 * KIB, 512 * MIB),
            2 * MIB,
            4 * MIB,
            "Memory of one connection for the protocol SIMPLE, divided into 8 slots.");

    public static final Setting<Integer> LL_BUFFSIZE = GROUP.add(
            "JCCL_LL_BUFFSIZE",
            "NCCL_LL_BUFFSIZE",
            size(8 * KIB, 64 * MIB),
            128 * KIB,
            512 * KIB,
            "Memory of one connection for the protocol LL, divided into 8 slots; half of it carries data.");

    public static final Setting<Integer> LL128_BUFFSIZE = GROUP.add(
            "JCCL_LL128_BUFFSIZE",
            "NCCL_LL128_BUFFSIZE",
            size(8 * KIB, 64 * MIB),
            256 * KIB,
            4800 * KIB,
            "Memory of one connection for the protocol LL128, divided into 8 slots; 15/16 of it carries data.");

    public static final Setting<Integer> GPU_HOST_STAGING_BUFFSIZE = GROUP.add(
            "JCCL_GPU_HOST_STAGING_BUFFSIZE",
            "JCCL_GPU_STAGED_BUFFSIZE",
            size(8 * KIB, 1024 * MIB),
            32 * MIB,
            "Pinned memory of one communicator for host staging of operations on device memory"
                    + " (`JCCL_GPU_HOST_STAGING`). Larger collectives go in chunks of half this size. The sends and"
                    + " receives of one group are staged whole; if they are larger together, JCCL allocates more"
                    + " memory.");

    private MemorySettings() {}

    static List<Setting<?>> all() {
        return GROUP.settings();
    }
}
