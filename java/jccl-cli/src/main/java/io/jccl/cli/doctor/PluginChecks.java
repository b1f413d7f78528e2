package io.jccl.cli.doctor;

import io.jccl.CommunicatorConfig;
import io.jccl.config.Settings;
import io.jccl.topology.NetPlugin;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Checks the network plug-in for NCCL that connects this host to others, if there is one. */
final class PluginChecks {

    private static final String CHECK = "net-plugin";

    private PluginChecks() {}

    /** Returns the plug-in that the settings select, opened and initialised as a communicator does it. */
    static NetPlugin.Choice choice(Host host) {
        try {
            return NetPlugin.of(Settings.load(CommunicatorConfig.defaults(), System::getProperty, host.environment()));
        } catch (IllegalArgumentException e) {
            return new NetPlugin.Choice(Optional.empty(), List.of(), false); // the check of the settings reports it
        }
    }

    static List<Finding> plugin(Host host) {
        return findings(choice(host));
    }

    static List<Finding> findings(NetPlugin.Choice choice) {
        List<Finding> findings = new ArrayList<>();
        for (String obstacle : choice.obstacles()) {
            findings.add(
                    choice.asked()
                            ? Finding.warn(
                                    CHECK,
                                    obstacle + ": ranks use InfiniBand verbs or sockets",
                                    "install the plug-in where the loader looks (LD_LIBRARY_PATH), name its file by"
                                            + " JCCL_NET_PLUGIN, or set that to none")
                            : Finding.ok(CHECK, obstacle + ": it is not used"));
        }
        choice.plugin().ifPresent(plugin -> findings.add(Finding.ok(CHECK, plugin.describe())));
        return findings.isEmpty() ? List.of(Finding.ok(CHECK, "none")) : findings;
    }
}
