package io.jccl.init;

import io.jccl.config.NetworkSettings;
import io.jccl.topology.NetPlugin;
import io.jccl.wire.RankList;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Decides whether the ranks of a communicator use a network plug-in: all ranks use the same one, or none does. */
final class PluginAgreement {

    private static final Logger LOG = LoggerFactory.getLogger(PluginAgreement.class);

    private PluginAgreement() {}

    /** Returns this rank's choice, or why other ranks cannot use it. The lowest rank of each host logs the reason. */
    static NetPlugin.Choice of(NetPlugin.Choice mine, int rank, Peers peers) {
        boolean logs = peers.ranksOfHost(rank).get(0).rank() == rank;
        if (logs) {
            mine.obstacles()
                    .forEach(obstacle -> report(
                            mine,
                            obstacle + "; it is not used: correct " + NetworkSettings.NET_PLUGIN.name()
                                    + ", or set it to none"));
        }
        if (mine.plugin().isEmpty()) {
            return mine;
        }
        NetPlugin plugin = mine.plugin().get();
        List<Integer> without = peers.ranksWithoutPluginOf(rank);
        if (without.isEmpty()) {
            if (logs) {
                LOG.info("net plug-in {}", plugin.describe());
            }
            return mine;
        }
        String why = "net plug-in \"" + plugin.name() + "\" is not used: ranks " + RankList.text(without)
                + " do not have it; " + NetworkSettings.NET_PLUGIN.name() + " must lead to the same one on all hosts";
        if (logs) {
            report(mine, why);
        }
        return new NetPlugin.Choice(Optional.empty(), List.of(why), mine.asked());
    }

    /**
     * Logs a warning if a setting asked for a plug-in. Otherwise the plug-in is just installed, and an info message
     * suffices.
     */
    private static void report(NetPlugin.Choice choice, String text) {
        if (choice.asked()) {
            LOG.warn(text);
        } else {
            LOG.info(text);
        }
    }
}
