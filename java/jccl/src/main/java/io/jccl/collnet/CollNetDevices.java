package io.jccl.collnet;

import io.jccl.config.AlgorithmSettings;
import io.jccl.config.NetworkSettings;
import io.jccl.config.Settings;
import io.jccl.config.TimeSettings;
import io.jccl.nativelib.NativeLoadException;
import io.jccl.topology.ReducingDevice;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Lists the network devices whose network reduces, as a CollNet plug-in reports them. */
final class CollNetDevices {

    /**
     * Cached devices by plug-in. The cache exists because the host and its GPUs are described separately, and each
     * query would start the plug-in anew.
     */
    private static final Map<String, List<ReducingDevice>> KNOWN = new ConcurrentHashMap<>();

    private CollNetDevices() {}

    /** Returns the devices of the first plug-in that has any; none unless the settings enable CollNet. */
    static List<ReducingDevice> of(Settings settings) {
        if (!settings.get(AlgorithmSettings.COLLNET_ENABLE)) {
            return List.of();
        }
        List<String> names = NetworkSettings.netPluginNames(settings);
        Duration limit = settings.get(TimeSettings.INIT_TIMEOUT).dividedBy(4L * names.size() + 1);
        for (String name : names) {
            List<ReducingDevice> devices = KNOWN.computeIfAbsent(name, plugin -> ask(plugin, limit));
            if (devices != null) {
                return devices;
            }
        }
        return List.of();
    }

    /** Returns the plug-in's devices, or null if it has none now: then the next call asks again. */
    private static @Nullable List<ReducingDevice> ask(String plugin, Duration limit) {
        List<ReducingDevice> devices = new ArrayList<>();
        try {
            List<String> texts = NativeCollNet.devices(plugin, limit);
            for (int at = 0; at + 1 < texts.size(); at += 2) {
                devices.add(new ReducingDevice(texts.get(at), texts.get(at + 1)));
            }
        } catch (NativeLoadException e) {
            return null; // another part of the library reports the failure
        }
        return devices.isEmpty() ? null : List.copyOf(devices);
    }
}
