package io.jccl.rendezvous;

import io.jccl.BootstrapException;
import io.jccl.config.LoggedOnce;
import io.jccl.config.NetworkSettings;
import io.jccl.config.Setting;
import io.jccl.config.Settings;

/**
 * Applies the settings for interfaces and address family to options. A value under NCCL's name may have been written
 * for the hosts of another job. So if it leaves no usable address on this host, it is ignored with a warning.
 */
final class InterfaceSettings {

    private InterfaceSettings() {}

    static BootstrapOptions apply(BootstrapOptions options, Settings settings) {
        String names = settings.get(NetworkSettings.SOCKET_IFNAME);
        String family = settings.get(NetworkSettings.SOCKET_FAMILY);
        if (mayIgnore(settings, NetworkSettings.SOCKET_FAMILY) && !isUsable(options, "", family)) {
            warn(settings, NetworkSettings.SOCKET_FAMILY, "addresses of both families are");
            family = "";
        }
        if (mayIgnore(settings, NetworkSettings.SOCKET_IFNAME) && !isUsable(options, names, family)) {
            warn(settings, NetworkSettings.SOCKET_IFNAME, "JCCL's choice of interfaces is");
            names = "";
        }
        return options.withInterfaces(names, family);
    }

    private static boolean mayIgnore(Settings settings, Setting<?> setting) {
        return settings.origin(setting).isOfNccl();
    }

    private static boolean isUsable(BootstrapOptions options, String names, String family) {
        try {
            NetworkInterfaces.usable(options.withInterfaces(names, family));
            return true;
        } catch (BootstrapException | IllegalArgumentException e) {
            return false;
        }
    }

    private static void warn(Settings settings, Setting<?> setting, String instead) {
        LoggedOnce.warn(
                InterfaceSettings.class,
                settings.origin(setting).name() + "=\"" + settings.text(setting)
                        + "\" (from environment): no address of this host is left; " + instead + " used instead");
    }
}
