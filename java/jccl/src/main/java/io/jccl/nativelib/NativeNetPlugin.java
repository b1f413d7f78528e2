package io.jccl.nativelib;

import java.time.Duration;
import java.util.List;

/** A network plug-in for NCCL, opened at run time where there is one. */
public final class NativeNetPlugin {

    /** Longs for each device: GUID, port, speed in Mb/s, latency in ns, connections at most, 1 where it reaches GPUs. */
    public static final int DEVICE_LENGTH = 6;

    private NativeNetPlugin() {}

    /**
     * What was found.
     *
     * @param numbers the version of the interface, and {@link #DEVICE_LENGTH} numbers for each device that reaches memory of
     *     the host; empty where the plug-in cannot be used, null where there is none
     * @param texts its name, its file, and for each device its name and its path in sysfs; or why it cannot be used
     */
    @SuppressWarnings("ArrayRecordComponent") // read at once, never compared
    public record Answer(long[] numbers, List<String> texts) {}

    /**
     * Opens a plug-in and reads its devices. It stays open until the process ends.
     *
     * @param plugin a path, the name of a library, or NAME of {@code libnccl-net-NAME.so}; empty: {@code libnccl-net.so}
     * @param limit how long it may take; then it is left behind
     * @throws NativeLoadException if JCCL's own library cannot be loaded
     */
    @SuppressWarnings("try") // a use is there to be open
    public static Answer ask(String plugin, Duration limit) {
        NativeLoader.load(); // not in a static initializer, which would throw an error of its own
        String[] texts = {""};
        try (LogThread.Use logs = LogThread.use()) {
            long[] numbers = probe(plugin, limit.toNanos(), texts);
            return new Answer(numbers, List.of(texts[0].split("\n", -1)));
        }
    }

    /**
     * The devices behind which a network reduces, of a CollNet plug-in: for each its name and its path in sysfs. None where
     * there is no such plug-in, or it cannot be used.
     *
     * @param plugin as in {@link #ask}
     * @param limit how long it may take
     * @throws NativeLoadException if JCCL's own library cannot be loaded
     */
    @SuppressWarnings("try") // a use is there to be open
    public static List<String> reducing(String plugin, Duration limit) {
        NativeLoader.load();
        try (LogThread.Use logs = LogThread.use()) {
            String lines = probeReducing(plugin, limit.toNanos());
            return lines == null || lines.isEmpty() ? List.of() : List.of(lines.split("\n", -1));
        }
    }

    private static native String probeReducing(String plugin, long limitNanos);

    private static native long[] probe(String plugin, long limitNanos, String[] texts);
}
