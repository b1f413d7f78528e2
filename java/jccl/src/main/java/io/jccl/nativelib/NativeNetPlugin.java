package io.jccl.nativelib;

import java.lang.annotation.Native;
import java.time.Duration;
import java.util.List;

/** Opens a network plug-in for NCCL at run time, if there is one, and reads its devices. */
public final class NativeNetPlugin {

    // The numbers of a device.

    /** GUID of the device. */
    @Native
    public static final int DEVICE_GUID = 0;
    /** Port of the device. */
    @Native
    public static final int DEVICE_PORT = 1;
    /** Speed in Mb/s. */
    @Native
    public static final int DEVICE_SPEED = 2;
    /** Latency in nanoseconds. */
    @Native
    public static final int DEVICE_LATENCY_NANOS = 3;
    /** Maximum number of connections. */
    @Native
    public static final int DEVICE_CONNECTIONS = 4;
    /** 1 if the device reaches memory of GPUs. */
    @Native
    public static final int DEVICE_REACHES_GPUS = 5;
    /** Count of these numbers. */
    @Native
    public static final int DEVICE_LENGTH = 6;

    private NativeNetPlugin() {}

    /**
     * The result of {@link #ask}.
     *
     * @param numbers the version of the interface, and {@link #DEVICE_LENGTH} numbers for each device that reaches host
     *     memory; empty if the plug-in cannot be used, null if there is none
     * @param texts the plug-in's name and file, then the name and the sysfs path of each device; or the reason why the
     *     plug-in cannot be used
     */
    @SuppressWarnings("ArrayRecordComponent") // the arrays are read at once, never compared
    public record Answer(long[] numbers, List<String> texts) {}

    /**
     * Opens a plug-in and reads its devices. The plug-in stays open until the process ends.
     *
     * @param plugin a path, the name of a library, or NAME of {@code libnccl-net-NAME.so}; empty for
     *     {@code libnccl-net.so}
     * @param limit time after which the call no longer waits for the plug-in
     * @throws NativeLoadException if JCCL's own library cannot be loaded
     */
    public static Answer ask(String plugin, Duration limit) {
        String[] texts = {""};
        long[] numbers = PluginHandle.call(() -> probe(plugin, limit.toNanos(), texts));
        return new Answer(numbers, List.of(texts[0].split("\n", -1)));
    }

    private static native long[] probe(String plugin, long limitNanos, String[] texts);
}
