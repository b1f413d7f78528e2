package io.jccl.parts;

import io.jccl.JcclException;
import io.jccl.config.PluginSettings;
import io.jccl.config.Setting;
import io.jccl.config.Settings;
import io.jccl.topology.NetPlugin;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds a plug-in in the same places as NCCL: first in the library that a setting names, then in the library of the
 * network plug-in.
 */
public final class NamedPlugin {

    private static final Logger LOG = LoggerFactory.getLogger(NamedPlugin.class);

    private NamedPlugin() {}

    /** Opens a plug-in. */
    public interface Opener<T> {
        /**
         * Opens the plug-in.
         *
         * @param name the plug-in's name or file
         * @param ofNetwork true if {@code name} is that of a network plug-in
         * @throws JcclException if it cannot be opened, with the reason
         */
        T open(String name, boolean ofNetwork);
    }

    /**
     * Opens the plug-in that a setting names, or else the one in the network plug-in's library. Logs a warning if the
     * named plug-in cannot be opened.
     *
     * @param network the network plug-in in use
     * @return empty if the setting wants none, or none can be opened
     */
    public static <T> Optional<T> find(
            Settings settings, Setting<String> setting, Optional<NetPlugin> network, Opener<T> opener) {
        Optional<String> named = PluginSettings.named(settings, setting);
        if (named.isEmpty()) {
            return Optional.empty();
        }
        String name = named.get();
        try {
            return Optional.of(opener.open(name, false));
        } catch (JcclException e) {
            Optional<T> ofNetwork = network.flatMap(plugin -> open(plugin.file(), opener));
            if (!name.isEmpty()) {
                LOG.warn(
                        "{}={}: {}; {}",
                        settings.origin(setting).name(),
                        name,
                        e.getMessage(),
                        ofNetwork.isPresent() ? "that of the network plug-in is used" : "none is used");
            }
            return ofNetwork;
        }
    }

    private static <T> Optional<T> open(String file, Opener<T> opener) {
        try {
            return Optional.of(opener.open(file, true));
        } catch (JcclException e) { // not reported: few network plug-ins contain such a plug-in
            return Optional.empty();
        }
    }
}
