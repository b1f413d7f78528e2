package io.jccl.cli.tune;

import io.jccl.Collective;
import io.jccl.TransportKind;
import io.jccl.cli.topo.ThisHost;
import io.jccl.cli.topo.TopologyReporter;
import io.jccl.config.Settings;
import io.jccl.init.Parts;
import io.jccl.planning.PlanOptions;
import io.jccl.planning.PlanningOptions;
import io.jccl.tuning.Choice;
import io.jccl.tuning.ChoiceTable;
import io.jccl.tuning.CommunicatorShape;
import io.jccl.tuning.CostModel;
import io.jccl.tuning.HostCosts;
import java.util.List;
import java.util.Optional;

/**
 * The host that is tuned, and the choices of the cost model for groups of ranks on it, or for ranks of which each is on
 * another host like it.
 *
 * @param cores number of processors that this process may use
 * @param hosts number of hosts that have one rank each; 1 if all ranks are on this host
 * @param settings settings of this process
 * @param costs the profile in use
 */
record TunedHost(int cores, int hosts, Settings settings, HostCosts costs) {

    static TunedHost here(int hosts, Settings settings) {
        return new TunedHost(ThisHost.cores(), hosts, settings, HostCosts.of(settings));
    }

    /** Returns true if each rank is on a host of its own. */
    boolean isOneOfSeveral() {
        return hosts > 1;
    }

    /** Returns the shape of a run's communicator, for the cost model. */
    CommunicatorShape shape(TransportKind transport, int ranks, int channels) {
        PlanningOptions options = PlanningOptions.of(settings, costs, Parts.expected(settings))
                .withChannels(new PlanOptions(channels, channels));
        int ranksHere = isOneOfSeveral() ? 1 : ranks;
        CommunicatorShape shape =
                TopologyReporter.shape(ThisHost.request(Optional.empty(), ranksHere, hosts, false, settings, options));
        return isOneOfSeveral() ? shape : shape.over(transport);
    }

    /** Returns how an operation is executed in a configuration. */
    Choice choice(CommunicatorShape shape, Configuration configuration, Collective collective, long bytes) {
        return ChoiceTable.build(new CostModel(costs, shape), configuration.overrides())
                .choice(collective, bytes);
    }

    /** Returns the numbers of ranks with a core each: 2, and 4 if there are at least 4 cores; between hosts, one a host. */
    List<Integer> dedicatedCoreRanks() {
        if (isOneOfSeveral()) {
            return List.of(hosts);
        }
        return cores >= 4 ? List.of(2, 4) : List.of(2);
    }

    /** Returns twice the number of cores, but at least 4. */
    int oversubscribedRanks() {
        return 2 * Math.max(2, cores);
    }
}
