package io.jccl.planning;

import io.jccl.TransportKind;
import io.jccl.plan.Plan;
import io.jccl.plan.PlannedHost;
import io.jccl.plan.RankChannels;
import io.jccl.planning.CommunicatorPlan.GpuPlan;
import io.jccl.tuning.ChoiceTable;
import io.jccl.tuning.CollNetTraits;
import io.jccl.tuning.CommunicatorShape;
import io.jccl.tuning.CostModel;
import io.jccl.tuning.DeviceModel;
import io.jccl.tuning.GpuShape;
import io.jccl.tuning.GraphCostModel;
import io.jccl.tuning.HostTraits;
import io.jccl.tuning.TimeModel;
import io.jccl.tuning.TuningOverrides;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Decides what a communicator does, from what was found on the hosts of its ranks. All ranks pass equal values and get equal
 * plans.
 */
public final class Planner {

    /** A GPU's part of a communicator has no more channels than this, however many a plan has. */
    public static final int MAX_DEVICE_CHANNELS = 32;

    private Planner() {}

    /**
     * Plans.
     *
     * @param hosts what all ranks found, with memory of the host as their endpoints, or a description's GPUs
     * @param gpus what all ranks found with their GPUs as endpoints; empty where these have no plan of their own
     * @param local how ranks of one host reach each other, the slowest where they differ: what is expected, until
     *     {@link #connected} takes what connecting has shown
     * @throws IllegalArgumentException if a setting leaves no way to execute the collectives it names, or none at all
     */
    public static CommunicatorPlan plan(
            List<MachineSurvey> hosts, List<MachineSurvey> gpus, TransportKind local, PlanningOptions options) {
        Plan host = plan(hosts, options);
        Optional<GpuPlan> gpu = Optional.empty();
        if (!gpus.isEmpty()) {
            Plan overGpus = plan(gpus, options);
            gpu = Optional.of(new GpuPlan(overGpus, gpuShape(overGpus, gpus, options)));
        }
        CommunicatorShape shape = hostShape(host, hosts, local, options);
        TimeModel model = host.gpu()
                ? new GraphCostModel(gpuShape(host, hosts, options), options.overrides())
                : new CostModel(options.costs(), shape);
        return new CommunicatorPlan(host, gpu, shape, ChoiceTable.build(model, overrides(host, gpu, options)));
    }

    /** Beside GPUs a setting may name what memory of the host has not. */
    private static TuningOverrides overrides(Plan host, Optional<GpuPlan> gpu, PlanningOptions options) {
        return !host.gpu() && gpu.isPresent() ? options.overrides().withoutNvls() : options.overrides();
    }

    /** Whether the switch between the GPUs is expected to reduce and multicast. */
    public static boolean expectsNvls(CommunicatorPlan plan, PlanningOptions options) {
        return options.overrides().nvls()
                && plan.gpu().map(gpu -> gpu.shape().hasSwitch()).orElse(false);
    }

    private static Plan plan(List<MachineSurvey> surveys, PlanningOptions options) {
        List<RankChannels> channels = new ArrayList<>();
        for (MachineSurvey survey : surveys) {
            channels.add(survey.channels());
        }
        return Plan.build(channels, options.channels());
    }

    /** The narrowest network and the host with the fewest processors for each rank bound the others. */
    private static CommunicatorShape hostShape(
            Plan plan, List<MachineSurvey> surveys, TransportKind local, PlanningOptions options) {
        int localRanks = 0;
        PlannedHost fullest = plan.hosts().get(0);
        for (PlannedHost host : plan.hosts()) {
            localRanks = Math.max(localRanks, host.ranks().size());
            fullest = coresPerRank(host, surveys) < coresPerRank(fullest, surveys) ? host : fullest;
        }
        double minNetGBps = Double.POSITIVE_INFINITY;
        for (MachineSurvey survey : surveys) {
            minNetGBps = Math.min(minNetGBps, survey.netGBps());
        }
        return new CommunicatorShape(
                plan.size(),
                plan.hosts().size(),
                localRanks,
                surveys.get(fullest.ranks().get(0)).cores(),
                plan.channels(),
                plan.treeDepth(0),
                localRanks == 1 ? TransportKind.P2P : local,
                minNetGBps,
                options.slots());
    }

    private static double coresPerRank(PlannedHost host, List<MachineSurvey> surveys) {
        return (double) surveys.get(host.ranks().get(0)).cores() / host.ranks().size();
    }

    private static GpuShape gpuShape(Plan plan, List<MachineSurvey> surveys, PlanningOptions options) {
        HostTraits traits =
                HostTraits.together(surveys.stream().map(MachineSurvey::traits).toList());
        return GpuShape.of(plan, traits, options.deviceSlots())
                .withChannels(Math.min(plan.channels(), MAX_DEVICE_CHANNELS));
    }

    /**
     * The plan once it is known how ranks of one host reach each other.
     *
     * @param local the slowest transport inside any host
     */
    public static CommunicatorPlan connected(CommunicatorPlan plan, TransportKind local, PlanningOptions options) {
        return connected(plan, local, Optional.empty(), options);
    }

    /**
     * The same where the network between hosts may reduce.
     *
     * @param collNet what it can do; empty where it does not
     */
    public static CommunicatorPlan connected(
            CommunicatorPlan plan, TransportKind local, Optional<CollNetTraits> collNet, PlanningOptions options) {
        if (plan.host().gpu() || local == plan.shape().localTransport() && collNet.isEmpty()) {
            return plan;
        }
        CommunicatorShape shape = plan.shape().over(local);
        ChoiceTable choices = ChoiceTable.build(
                new CostModel(options.costs(), shape, collNet), overrides(plan.host(), plan.gpu(), options));
        return new CommunicatorPlan(plan.host(), plan.gpu(), shape, choices);
    }

    /**
     * How each operation on memory of GPUs is executed once these are connected.
     *
     * @param facts without NVLS where the table is for operations that a switch does not reduce
     * @param options whose {@code JCCL_ALGO=nvls} is an error where the facts have no NVLS
     */
    public static ChoiceTable deviceChoices(CommunicatorPlan plan, DeviceFacts facts, PlanningOptions options) {
        GpuShape shape = plan.gpu()
                .map(gpu -> gpu.shape().withChannels(facts.channels()))
                .orElseGet(() -> DeviceModel.assumedShape(
                        plan.host().size(),
                        facts.channels(),
                        plan.host().treeDepth(0),
                        facts.ranksPerDevice(),
                        facts.minCapability(),
                        facts.maxCapability(),
                        options.deviceSlots()));
        if (facts.throughHost()) {
            shape = shape.throughHost(DeviceModel.HOST_LINK_GBPS);
        }
        TuningOverrides overrides =
                facts.nvls() ? options.overrides() : options.overrides().withNvls(false);
        if (facts.collNet().isEmpty()) {
            overrides = overrides.withoutCollNet();
        }
        DeviceModel model = new DeviceModel(
                shape, facts.ranksPerDevice(), facts.inPlace(), facts.protocols(), overrides, facts.collNet());
        return ChoiceTable.build(model, overrides);
    }
}
