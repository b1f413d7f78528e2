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

/** The network devices behind which a network reduces, as a CollNet plug-in lists them. */
final class CollNetDevices {

    /**
     * A device.
     *
     * @param name what the plug-in calls it
     * @param pciPath where it is in sysfs, empty where the plug-in does not say
     */
    record Device(String name, String pciPath) {}

    private CollNetDevices() {}

    /** Those of the first plug-in that has any; none unless the settings let a network reduce. */
    static List<Device> of(Settings settings) {
        if (!settings.get(AlgorithmSettings.COLLNET_ENABLE)) {
            return List.of();
        }
        List<String> names = NetworkSettings.netPluginNames(settings);
        Duration limit = settings.get(TimeSettings.INIT_TIMEOUT).dividedBy(4L * names.size() + 1);
        for (String name : names) {
            try {
                List<String> texts = NativeNetPlugin.reducing(name, limit);
                List<Device> devices = new ArrayList<>();
                for (int at = 0; at + 1 < texts.size(); at += 2) {
                    devices.add(new Device(texts.get(at), texts.get(at + 1)));
                }
                if (!devices.isEmpty()) {
                    return devices;
                }
            } catch (NativeLoadException e) {
                return List.of(); // others report it
            }
        }
        return List.of();
    }
}
