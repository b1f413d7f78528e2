package io.jccl.collnet;

import io.jccl.nativelib.Code;
import io.jccl.nativelib.NativeEngine;
import io.jccl.nativelib.PluginHandle;
import java.lang.annotation.Native;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * CollNet of an engine on the host. If a method fails, {@link NativeEngine#callError} returns the reason. First every
 * rank calls {@link #offer}. If all ranks offer it, the leaders of each group call {@link #listen} and {@link #connect}.
 * Then all ranks call {@link #use}, or {@link #drop} if any rank failed.
 */
final class NativeCollNet {

    // Places in the row that common() returns.

    /** Maximum count of groups that can use the network. */
    @Native
    static final int COMMON_GROUPS = 0;

    /** 1 if the network also gathers and scatters. */
    @Native
    static final int COMMON_GATHERS = 1;

    /** Speed in Mb/s; 0 if unknown. */
    @Native
    static final int COMMON_MEGABITS = 2;

    /** Latency in nanoseconds; 0 if unknown. */
    @Native
    static final int COMMON_LATENCY_NANOS = 3;

    @Native
    static final int COMMON_LENGTH = 4;

    private final NativeEngine engine;

    NativeCollNet(NativeEngine engine) {
        this.engine = engine;
    }

    /** Opens a plug-in by its name; returns this rank's offer. */
    Optional<byte[]> offer(String plugin) {
        return Optional.ofNullable(offer(engine.address(), plugin));
    }

    /** Returns what the offers of all ranks, in rank order, have in common; empty if they differ too much. */
    Optional<CollNetTraits> common(List<byte[]> offers) {
        long[] values = common(engine.address(), array(offers));
        return values == null
                ? Optional.empty()
                : Optional.of(new CollNetTraits(
                        (int) values[COMMON_GROUPS],
                        values[COMMON_GATHERS] != 0,
                        values[COMMON_MEGABITS] / 8e3,
                        values[COMMON_LATENCY_NANOS] / 1e3));
    }

    /** Returns the handle by which others connect to this rank in a group. */
    Optional<byte[]> listen(int group) {
        return Optional.ofNullable(listen(engine.address(), group));
    }

    /**
     * Makes a group of which this rank is a member; all members call this at the same time.
     *
     * @param handles of all members
     * @param member this rank's place among the members
     * @param timeoutNanos time after which the call fails
     * @return true on success
     */
    boolean connect(int group, List<byte[]> handles, int member, long timeoutNanos) {
        return connect(engine.address(), group, array(handles), member, timeoutNanos) == Code.OK;
    }

    /**
     * Lets the network reduce from now on. All ranks call this, after {@link NativeEngine#setHosts}.
     *
     * @param leaders the leader of each host, group by group
     * @param groups count of the groups
     * @param offers of all ranks, in rank order
     * @return true on success
     */
    boolean use(int[] leaders, int groups, List<byte[]> offers) {
        return use(engine.address(), leaders, groups, array(offers)) == Code.OK;
    }

    /**
     * Lets the network reduce for kernels of a GPU, instead of {@link #use}. Must precede
     * {@link NativeEngine#startStaging}.
     *
     * @param groups count of the groups
     * @param offers of all ranks, in rank order
     * @param ranksOfHost count of ranks of each host if it is the same on all hosts and the ranks of a host have
     *     consecutive numbers; else 0, and the network neither gathers nor scatters
     * @return the address of the common part of all offers, valid while the engine exists; then four addresses for each
     *     group: the memory block and the head of the connection to the network, then those of the connection from the
     *     network; zeros if another rank leads the group
     */
    Optional<long[]> stage(int groups, List<byte[]> offers, int ranksOfHost) {
        return Optional.ofNullable(stage(engine.address(), groups, array(offers), ranksOfHost));
    }

    /** Stops using the network, and closes it. */
    void drop() {
        drop(engine.address());
    }

    /**
     * Returns the devices of a plug-in: the name and the sysfs path of each. Returns none if there is no such plug-in,
     * or it cannot be used.
     *
     * @param plugin a path, the name of a library, or NAME of {@code libnccl-net-NAME.so}; empty for
     *     {@code libnccl-net.so}
     * @param limit time after which the call no longer waits for the plug-in
     * @throws io.jccl.nativelib.NativeLoadException if JCCL's own library cannot be loaded
     */
    static List<String> devices(String plugin, Duration limit) {
        String lines = PluginHandle.call(() -> devices(plugin, limit.toNanos()));
        return lines == null || lines.isEmpty() ? List.of() : List.of(lines.split("\n", -1));
    }

    private static byte[][] array(List<byte[]> list) {
        return list.toArray(byte[][]::new);
    }

    // Natives return null or a code on failure.

    private static native byte[] offer(long engine, String plugin);

    private static native long[] common(long engine, byte[][] offers);

    private static native byte[] listen(long engine, int group);

    private static native int connect(long engine, int group, byte[][] handles, int member, long timeoutNanos);

    private static native int use(long engine, int[] leaders, int groups, byte[][] offers);

    private static native long[] stage(long engine, int groups, byte[][] offers, int ranksOfHost);

    private static native void drop(long engine);

    private static native String devices(String plugin, long limitNanos);
}
