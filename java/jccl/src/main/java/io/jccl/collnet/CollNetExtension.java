package io.jccl.collnet;

import io.jccl.config.AlgorithmSettings;
import io.jccl.nativelib.DeviceEngine;
import io.jccl.nativelib.NativeEngine;
import io.jccl.parts.ConnectingDevice;
import io.jccl.parts.Extension;
import io.jccl.parts.InitContext;
import io.jccl.planning.Plan;
import io.jccl.planning.TreeLinks;
import io.jccl.tuning.AddedGpuAlgorithm;
import io.jccl.tuning.AddedHostAlgorithm;
import java.util.List;
import java.util.Optional;

/** Adds CollNet to a communicator. GPU memory uses CollNet only if host memory does. */
final class CollNetExtension implements Extension {

    private final InitContext context;
    private int groups; // number of groups that host memory uses; 0 if it does not use CollNet

    CollNetExtension(InitContext context) {
        this.context = context;
    }

    @Override
    public List<AddedHostAlgorithm> connectHosts(NativeEngine engine, Plan plan) {
        Optional<CollNetTraits> traits = isWanted(plan)
                ? CollNetConnector.forHosts(context, engine, plan).connect()
                : Optional.empty();
        groups = traits.map(CollNetTraits::groups).orElse(0);
        return traits.map(CollNetHostAlgorithm::of).orElse(List.of());
    }

    /** Returns true if the settings allow CollNet between the hosts of a plan. All ranks get the same answer. */
    private boolean isWanted(Plan plan) {
        return context.settings().get(AlgorithmSettings.COLLNET_ENABLE)
                && plan.hosts().size() > 1
                && plan.hosts().size() >= context.settings().get(AlgorithmSettings.COLLNET_NODE_THRESHOLD);
    }

    @Override
    public void setUpDevice(ConnectingDevice device) {
        Plan plan = device.plan().onDevices();
        for (int channel = 0; channel < groups(device); channel++) {
            setChain(device.engine(), plan, channel);
            TreeLinks links = plan.hostTree(channel, context.rank());
            NativeDeviceCollNet.setHostTree(device.engine(), channel, links.up(), links.downRanks());
        }
    }

    private int groups(ConnectingDevice device) {
        return Math.min(device.channels(), groups);
    }

    /**
     * Sets this rank's place in the chain of a channel. A chain's leader also exchanges empty chunks with the leaders
     * of the hosts before and after its own.
     */
    private void setChain(DeviceEngine engine, Plan plan, int channel) {
        int rank = context.rank();
        int hosts = plan.hosts().size();
        int host = plan.hostOf(rank).index();
        List<Integer> chain = plan.chain(channel, host);
        int place = chain.indexOf(rank);
        int down = place + 1 < chain.size() ? chain.get(place + 1) : -1;
        List<Integer> fromHere = chain.subList(place, chain.size());
        int among = (int) fromHere.stream().filter(other -> other < rank).count();
        boolean leads = place == 0;
        NativeDeviceCollNet.setChain(
                engine,
                channel,
                new NativeDeviceCollNet.ChainPlace(
                        leads ? -1 : chain.get(place - 1),
                        down,
                        leads ? plan.chain(channel, (host + 1) % hosts).get(0) : -1,
                        leads ? plan.chain(channel, (host + hosts - 1) % hosts).get(0) : -1,
                        fromHere.size(),
                        among));
    }

    @Override
    public List<AddedGpuAlgorithm> connectDevice(ConnectingDevice device, Optional<NativeEngine> staging) {
        if (groups == 0) {
            return List.of();
        }
        return CollNetConnector.forDevices(
                        context,
                        staging.orElseThrow(),
                        device.engine(),
                        device.plan().onDevices(),
                        groups(device))
                .connect()
                .map(CollNetGpuAlgorithm::of)
                .orElse(List.of());
    }
}
