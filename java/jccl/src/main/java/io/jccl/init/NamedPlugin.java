package io.jccl.init;

import io.jccl.JcclException;
import io.jccl.config.PluginSettings;
import io.jccl.config.Setting;
import io.jccl.config.Settings;
import io.jccl.topology.NetPlugin;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds a plug-in where NCCL does: in the library that a setting names, then in that of the network plug-in. */
final class NamedPlugin {

    private static final Logger LOG = LoggerFactory.getLogger(NamedPlugin.class);

    private NamedPlugin() {}

    /** Opens a plug-in. */
    interface Opener<T> {
        /**
         * Opens it.
         *
         * @param ofNetwork whether it is the name of a network plug-in
         * @throws JcclException that says why it cannot be opened
         */
        T open(String name, boolean ofNetwork);
    }

    /**
     * Opens what a setting names; of what it names, and cannot be opened, there is a warning.
     *
     * @param network the network plug-in in use
     */
    static <T> Optional<T> find(
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
        } catch (JcclException e) { // few have one: nothing to report
            return Optional.empty();
        }
    }
}
