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
 * @param name what it calls itself
 * @param file its library
 * @param version of the interface between it and JCCL
 * @param devices those that reach memory of the host
 */
public record NetPlugin(String name, String file, int version, List<Device> devices) {

    /**
     * A device of a plug-in.
     *
     * @param name what the plug-in calls it
     * @param pciPath where it is in sysfs, empty where the plug-in does not say
     * @param guid what its card calls itself, 0 where not known
     * @param port its port on the card
     * @param speedMbps in Mb/s, 0 where not known
     * @param latencyMicros what a message takes beside its bytes, 0 where not known
     * @param maxConnections how many channels may come in by it, and how many leave; 0 where nothing limits them
     * @param reachesGpus whether it sends from memory of GPUs, and receives into it
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
     * What the settings lead to.
     *
     * @param plugin the one in use; absent where settings want none, or none can be used
     * @param obstacles why not: a line for each plug-in that was tried and cannot be used
     * @param asked whether a setting names a plug-in, so that an obstacle is worth a warning
     */
    public record Choice(Optional<NetPlugin> plugin, List<String> obstacles, boolean asked) {

        /** Why there is no plug-in. */
        public String obstacle() {
            return obstacles.isEmpty()
                    ? "no network plug-in is in use; name one by " + NetworkSettings.NET_PLUGIN.name()
                    : String.join("; ", obstacles);
        }
    }

    /** Each connection of a channel is two communicators of a plug-in. */
    private static final int COMMUNICATORS = 2;

    /** Opens the plug-ins that the settings name until one can be used; never fails. It stays open as long as the process. */
    public static Choice of(Settings settings) {
        List<String> wanted = NetworkSettings.netPlugins(settings);
        boolean asked = !wanted.isEmpty() && !wanted.contains("");
        // Where it hangs, other networks are still to be tried in time.
        Duration limit = settings.get(TimeSettings.INIT_TIMEOUT).dividedBy(2L * wanted.size() + 1);
        List<String> obstacles = new ArrayList<>();
        for (String one : wanted) {
            try {
                NativeNetPlugin.Answer answer = NativeNetPlugin.ask(one, limit);
                if (answer.numbers() != null && answer.numbers().length > 0) {
                    return new Choice(Optional.of(decode(answer)), obstacles, asked);
                }
                // That no plug-in is installed is nothing to report unless one was asked for.
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
                    numbers[at],
                    (int) numbers[at + 1],
                    (int) numbers[at + 2],
                    numbers[at + 3] / 1e3,
                    (int) numbers[at + 4] / COMMUNICATORS,
                    numbers[at + 5] != 0));
        }
        return new NetPlugin(texts.get(0), texts.get(1), (int) numbers[0], devices);
    }

    /** For example {@code "AWS Libfabric", file=libnccl-net-ofi.so version=11 devices: rdmap0s6 (100 Gb/s)}. */
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
