package io.jccl.topology;

import io.jccl.config.AlgorithmSettings;
import io.jccl.config.NetworkSettings;
import io.jccl.config.Settings;
import io.jccl.config.TimeSettings;
import io.jccl.nativelib.NativeLoadException;
import io.jccl.nativelib.NativeNetPlugin;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The network devices behind which a network reduces, as a CollNet plug-in lists them. */
final class CollNetDevices {

    /**
     * A device.
     *
     * @param name what the plug-in calls it
     * @param pciPath where it is in sysfs, empty where the plug-in does not say
     */
    record Device(String name, String pciPath) {}

    /** By plug-in. The host and its GPUs are described one after the other, and a plug-in is begun for each question. */
    private static final Map<String, List<Device>> KNOWN = new ConcurrentHashMap<>();

    private CollNetDevices() {}

    /** Those of the first plug-in that has any; none unless the settings let a network reduce. */
    static List<Device> of(Settings settings) {
        if (!settings.get(AlgorithmSettings.COLLNET_ENABLE)) {
            return List.of();
        }
        List<String> names = NetworkSettings.netPluginNames(settings);
        Duration limit = settings.get(TimeSettings.INIT_TIMEOUT).dividedBy(4L * names.size() + 1);
        for (String name : names) {
            List<Device> devices = KNOWN.computeIfAbsent(name, plugin -> ask(plugin, limit));
            if (devices != null) {
                return devices;
            }
        }
        return List.of();
    }

    /** Null where it has none now: it is asked again. */
    private static @Nullable List<Device> ask(String plugin, Duration limit) {
        List<Device> devices = new ArrayList<>();
        try {
            List<String> texts = NativeNetPlugin.reducing(plugin, limit);
            for (int at = 0; at + 1 < texts.size(); at += 2) {
                devices.add(new Device(texts.get(at), texts.get(at + 1)));
            }
        } catch (NativeLoadException e) {
            return null; // others report it
        }
        return devices.isEmpty() ? null : List.copyOf(devices);
    }
}
