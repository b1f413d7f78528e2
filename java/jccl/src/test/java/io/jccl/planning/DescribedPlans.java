package io.jccl.planning;

import io.jccl.TransportKind;
import io.jccl.planning.Surveyor.LocalSurvey;
import io.jccl.search.GraphFile;
import io.jccl.search.SearchOptions.CrossNic;
import io.jccl.topology.GraphBuilder;
import io.jccl.topology.PathPolicy;
import io.jccl.topology.Topology;
import io.jccl.topology.XmlElement;
import io.jccl.tuning.CommunicatorShape.SlotBytes;
import io.jccl.tuning.HostCosts;
import io.jccl.tuning.TuningOverrides;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/** Makes plans of described hosts with default settings. */
public final class DescribedPlans {

    private static final int CORES = 8;
    private static final SlotBytes SLOTS = new SlotBytes(32 << 10, 122_880, 128 << 10);

    private DescribedPlans() {}

    /** Returns the survey of a host. The clock of the search is fake: every search takes a millisecond. */
    public static LocalSurvey survey(XmlElement description, boolean networks) {
        return survey(description, networks, Optional.empty());
    }

    /** Returns the survey of a host, with the channels of a graph file if one is given. */
    static LocalSurvey survey(XmlElement description, boolean networks, Optional<GraphFile> graphs) {
        long[] clock = {0};
        Surveyor surveyor =
                new Surveyor(PathPolicy.defaults(), CrossNic.IF_BETTER, networks, graphs, () -> clock[0] += 1_000_000);
        Topology whole = GraphBuilder.build(description);
        int first = Topology.rankOf(whole.node(whole.endpoints().get(0)));
        return surveyor.survey(surveyor.paths(whole, first), first, "described", CORES);
    }

    /** Returns the plan of a number of equal hosts. */
    public static CommunicatorPlan plan(XmlElement description, int hosts) {
        return plan(description, hosts, AddedAlgorithms.NONE);
    }

    /** Returns the plan of a number of equal hosts, for communicators to which parts add algorithms. */
    public static CommunicatorPlan plan(XmlElement description, int hosts, AddedAlgorithms added) {
        List<MachineSurvey> surveys =
                Collections.nCopies(hosts, survey(description, hosts > 1).survey());
        return Planner.plan(MachineSurvey.together(surveys), List.of(), TransportKind.SHM, options(added));
    }

    /** Returns the plan of hosts from their surveys. */
    static CommunicatorPlan plan(List<MachineSurvey> hosts, TransportKind local) {
        return Planner.plan(MachineSurvey.together(hosts), List.of(), local, options());
    }

    static PlanningOptions options() {
        return options(AddedAlgorithms.NONE);
    }

    /** Returns default options, for communicators to which parts add algorithms. */
    public static PlanningOptions options(AddedAlgorithms added) {
        return options(TuningOverrides.none(), added);
    }

    /** Returns options with other restrictions of the choices. */
    public static PlanningOptions options(TuningOverrides overrides, AddedAlgorithms added) {
        return new PlanningOptions(PlanOptions.defaults(), SLOTS, SLOTS, overrides, HostCosts.builtIn(), added, 1);
    }
}
