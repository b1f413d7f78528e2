package io.jccl.planning;

import io.jccl.TransportKind;
import io.jccl.planning.CommunicatorPlan.GpuPlan;
import io.jccl.tuning.AddedGpuAlgorithm;
import io.jccl.tuning.AddedHostAlgorithm;
import io.jccl.tuning.ChoiceTable;
import io.jccl.tuning.CommunicatorShape;
import io.jccl.tuning.CostModel;
import io.jccl.tuning.DeviceModel;
import io.jccl.tuning.GpuShape;
import io.jccl.tuning.HostTraits;
import io.jccl.tuning.TimeModel;
import io.jccl.tuning.TuningOverrides;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** Makes the plan of a communicator from the surveys of its ranks. All ranks pass equal values and get equal plans. */
public final class Planner {

    /** Largest number of channels between the GPUs of a communicator, however many channels a plan has. */
    public static final int MAX_DEVICE_CHANNELS = 32;

    private Planner() {}

    /**
     * Makes a plan.
     *
     * @param hosts the surveys of all ranks; their endpoints are host memory, or in {@code jccl topo} the GPUs of a
     *     host description
     * @param gpus the surveys of all ranks whose endpoints are their GPUs; empty if the GPUs have no plan of their own
     * @param local the expected transport between ranks of one host, the slowest if they differ; {@link #connected}
     *     replaces it by the actual one
     * @throws IllegalArgumentException if a setting leaves no way to execute the collectives that it names, or no way
     *     to execute any collective
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
                ? model(
                        gpuShape(host, hosts, options),
                        DeviceFacts.planned(host, traits(hosts), false, options),
                        options.overrides())
                : new CostModel(options.costs(), shape);
        return new CommunicatorPlan(
                host, gpu, shape, ChoiceTable.build(model, overrides(host, gpu, List.of(), options)));
    }

    /**
     * Returns the settings that restrict the choices for host memory. If the ranks have GPUs, takes out the algorithms
     * that only GPUs are expected to have, because a setting that names these may be meant for the GPUs.
     */
    private static TuningOverrides overrides(
            Plan host, Optional<GpuPlan> gpu, List<AddedHostAlgorithm> added, PlanningOptions options) {
        TuningOverrides overrides = options.overridesWith(added.stream().map(AddedHostAlgorithm::algorithm));
        return !host.gpu() && gpu.isPresent()
                ? overrides.without(options.added().onGpus().stream()
                        .map(AddedGpuAlgorithm::algorithm)
                        .collect(Collectors.toSet()))
                : overrides;
    }

    private static Plan plan(List<MachineSurvey> surveys, PlanningOptions options) {
        List<RankChannels> channels = new ArrayList<>();
        for (MachineSurvey survey : surveys) {
            channels.add(survey.channels());
        }
        return Plan.build(channels, options.channels().onGpus(traits(surveys).minCapability()));
    }

    /**
     * Returns the shape for host ranks, with the bandwidth of the slowest network and the cores of the host that has
     * the fewest per rank.
     */
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
                options.slots(),
                options.hostsPerCore());
    }

    private static double coresPerRank(PlannedHost host, List<MachineSurvey> surveys) {
        return (double) surveys.get(host.ranks().get(0)).cores() / host.ranks().size();
    }

    private static GpuShape gpuShape(Plan plan, List<MachineSurvey> surveys, PlanningOptions options) {
        return shape(plan, traits(surveys), options.deviceSlots())
                .withChannels(Math.min(plan.channels(), MAX_DEVICE_CHANNELS));
    }

    /**
     * Adapts a plan to the transport that ranks of one host actually use.
     *
     * @param local the slowest transport inside any host
     */
    public static CommunicatorPlan connected(CommunicatorPlan plan, TransportKind local, PlanningOptions options) {
        return connected(plan, local, List.of(), options);
    }

    /**
     * Adapts a plan to the transport that ranks of one host actually use, and to the algorithms that parts have added
     * for host memory.
     */
    public static CommunicatorPlan connected(
            CommunicatorPlan plan, TransportKind local, List<AddedHostAlgorithm> added, PlanningOptions options) {
        if (plan.host().gpu() || local == plan.shape().localTransport() && added.isEmpty()) {
            return plan;
        }
        CommunicatorShape shape = plan.shape().over(local);
        ChoiceTable choices = ChoiceTable.build(
                new CostModel(options.costs(), shape, added), overrides(plan.host(), plan.gpu(), added, options));
        return new CommunicatorPlan(plan.host(), plan.gpu(), shape, choices);
    }

    /**
     * Returns how each operation on GPU memory is executed once the GPUs are connected.
     *
     * @param facts facts about the connected GPUs; without an algorithm if the table is for operations that it does not
     *     execute
     * @param options the settings. A setting that names only algorithms that the facts do not have is an error, unless
     *     these are undecided or {@linkplain PlanningOptions#without taken out}
     */
    public static ChoiceTable deviceChoices(CommunicatorPlan plan, DeviceFacts facts, PlanningOptions options) {
        GpuShape shape = plan.gpu()
                .map(gpu -> gpu.shape().withChannels(facts.channels()))
                .orElseGet(() -> DeviceModel.assumedShape(
                        plan.host().size(),
                        plan.host().hosts().size(),
                        localRanks(plan.host()),
                        facts.channels(),
                        plan.host().treeDepth(0),
                        facts.ranksPerDevice(),
                        facts.minCapability(),
                        facts.maxCapability(),
                        options.deviceSlots()));
        TuningOverrides overrides = options.overridesWith(facts.added().stream().map(AddedGpuAlgorithm::algorithm));
        return ChoiceTable.build(model(shape, facts, overrides), overrides);
    }

    /**
     * Returns the size in bytes up to which an all-reduce in place is one-shot. Kernels and the cost model use this limit.
     */
    public static long oneShotBytes(CommunicatorPlan plan) {
        return plan.gpu().map(gpu -> DeviceModel.oneShotBytes(gpu.shape())).orElse(DeviceModel.MAX_ONE_SHOT_BYTES);
    }

    private static DeviceModel model(GpuShape shape, DeviceFacts facts, TuningOverrides overrides) {
        return new DeviceModel(
                facts.throughHost() ? shape.throughHost(DeviceModel.HOST_LINK_GBPS) : shape,
                facts.ranksPerDevice(),
                facts.inPlace(),
                facts.protocols(),
                overrides,
                facts.added());
    }

    private static HostTraits traits(List<MachineSurvey> surveys) {
        return HostTraits.together(surveys.stream().map(MachineSurvey::traits).toList());
    }

    /**
     * Returns the shape of a plan over any hosts, in which all ranks own GPUs.
     *
     * @param traits the traits of all hosts together
     */
    private static GpuShape shape(Plan plan, HostTraits traits, CommunicatorShape.SlotBytes slots) {
        return new GpuShape(
                plan.size(),
                plan.hosts().size(),
                localRanks(plan),
                plan.channels(),
                plan.treeDepth(0),
                plan.ringGraph(),
                plan.treeGraph(),
                traits.minCapability(),
                traits.maxCapability(),
                traits.amdProcessors(),
                slots,
                traits.switchGBps(),
                traits.peers());
    }

    private static int localRanks(Plan plan) {
        return plan.hosts().stream().mapToInt(host -> host.ranks().size()).max().orElseThrow();
    }
}
