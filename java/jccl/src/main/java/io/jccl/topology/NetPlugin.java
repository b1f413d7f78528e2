package io.jccl.topology;

import io.jccl.config.NetworkSettings;
import io.jccl.config.Settings;
import io.jccl.config.TimeSettings;
import io.jccl.nativelib.NativeLoadException;
import io.jccl.nativelib.NativeNetPlugin;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.StringJoiner;

/**
 * A network plug-in for NCCL that this host can use.
 *
 * @param name the plug-in's name for itself
 * @param file its library
 * @param version the version of the interface between the plug-in and JCCL
 * @param devices its devices that can access host memory
 */
public record NetPlugin(String name, String file, int version, List<Device> devices) {

    /**
     * A device of a plug-in.
     *
     * @param name the plug-in's name for it
     * @param pciPath its path in sysfs, empty if the plug-in does not report it
     * @param guid the id of its card, 0 if unknown
     * @param port its port on the card
     * @param speedMbps its speed in Mb/s, 0 if unknown
     * @param latencyMicros the latency of a message in addition to the time of its bytes, 0 if unknown
     * @param maxConnections the largest number of channels in each direction; 0 if there is no limit
     * @param reachesGpus whether it can send from and receive into GPU memory
     */
    public record Device(
            String name,
            String pciPath,
            long guid,
            int port,
            int speedMbps,
            double latencyMicros,
            int maxConnections,
            boolean reachesGpus) {}

    /**
     * The outcome of trying the plug-ins that the settings name.
     *
     * @param plugin the plug-in in use; absent if the settings want none or none can be used
     * @param obstacles for each plug-in that was tried and cannot be used, a line with the reason
     * @param asked whether a setting names a plug-in, so that an obstacle deserves a warning
     */
    public record Choice(Optional<NetPlugin> plugin, List<String> obstacles, boolean asked) {

        /** Returns the reason why no plug-in is in use. */
        public String obstacle() {
            return obstacles.isEmpty()
                    ? "no network plug-in is in use; name one by " + NetworkSettings.NET_PLUGIN.name()
                    : String.join("; ", obstacles);
        }
    }

    /** Number of plug-in communicators for each connection of a channel. */
    private static final int COMMUNICATORS = 2;

    /**
     * Opens the plug-ins that the settings name, one after the other, until one can be used. Never fails. The plug-in
     * stays open until the process ends.
     */
    public static Choice of(Settings settings) {
        if (NetworkSettings.encryptionExcludesPlugin(settings)) {
            return new Choice(Optional.empty(), List.of(NetworkSettings.ENCRYPTION_EXCLUDES), true);
        }
        List<String> wanted = NetworkSettings.netPlugins(settings);
        boolean asked = !wanted.isEmpty() && !wanted.contains("");
        // A plug-in that hangs must leave time to try other networks.
        Duration limit = settings.get(TimeSettings.INIT_TIMEOUT).dividedBy(2L * wanted.size() + 1);
        List<String> obstacles = new ArrayList<>();
        for (String one : wanted) {
            try {
                NativeNetPlugin.Answer answer = NativeNetPlugin.ask(one, limit);
                if (answer.numbers() != null && answer.numbers().length > 0) {
                    return new Choice(Optional.of(decode(answer)), obstacles, asked);
                }
                // A missing plug-in is reported only if a setting names one.
                if (asked || answer.numbers() != null) {
                    obstacles.add(answer.texts().get(0));
                }
            } catch (NativeLoadException e) {
                obstacles.add("the native library cannot be loaded: " + e.getMessage());
            }
        }
        return new Choice(Optional.empty(), obstacles, asked);
    }

    private static NetPlugin decode(NativeNetPlugin.Answer answer) {
        long[] numbers = answer.numbers();
        List<String> texts = answer.texts();
        List<Device> devices = new ArrayList<>();
        for (int at = 1, text = 2; at < numbers.length; at += NativeNetPlugin.DEVICE_LENGTH, text += 2) {
            devices.add(new Device(
                    texts.get(text),
                    texts.get(text + 1),
                    numbers[at + NativeNetPlugin.DEVICE_GUID],
                    (int) numbers[at + NativeNetPlugin.DEVICE_PORT],
                    (int) numbers[at + NativeNetPlugin.DEVICE_SPEED],
                    numbers[at + NativeNetPlugin.DEVICE_LATENCY_NANOS] / 1e3,
                    (int) numbers[at + NativeNetPlugin.DEVICE_CONNECTIONS] / COMMUNICATORS,
                    numbers[at + NativeNetPlugin.DEVICE_REACHES_GPUS] != 0));
        }
        return new NetPlugin(texts.get(0), texts.get(1), (int) numbers[0], devices);
    }

    /** Returns for example {@code "AWS Libfabric", file=libnccl-net-ofi.so version=11 devices: rdmap0s6 (100 Gb/s)}. */
    public String describe() {
        StringJoiner text =
                new StringJoiner(", ", "\"" + name + "\", file=" + file + " version=" + version + " devices: ", "");
        for (Device one : devices) {
            text.add(one.name() + (one.speedMbps > 0 ? speed(one.speedMbps) : ""));
        }
        return text.toString();
    }

    private static String speed(int mbps) {
        return String.format(Locale.ROOT, " (%s Gb/s)", mbps % 1000 == 0 ? Integer.toString(mbps / 1000) : mbps / 1e3);
    }
}
