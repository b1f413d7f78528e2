package io.jccl.topology;

import java.util.ArrayList;
import java.util.List;

/** Assigns network devices to GPUs. GPUs that reach the same devices equally well divide them among themselves. */
final class LocalDevices {

    private final PathMatrix paths;

    LocalDevices(PathMatrix paths) {
        this.paths = paths;
    }

    /**
     * Returns the GPU to which a network device belongs, or -1 if it belongs to none. It is one of the GPUs best
     * reached from the device, and would itself choose the device for one of its channels.
     */
    int gpuOf(int net) {
        List<Integer> candidates = gpusOf(net);
        int nets = paths.topology().indexesOf(NodeType.NET).size();
        for (int channel = 0; channel < nets; channel++) {
            for (int gpu : candidates) {
                if (netOf(gpu, channel) == net) {
                    return gpu;
                }
            }
        }
        return -1;
    }

    /**
     * Returns the network device that a GPU uses for a channel, or -1 if it reaches none. GPUs that share a set of
     * devices start at different devices. Each GPU uses several devices in turn: as many as its share of the set.
     */
    int netOf(int gpu, int channel) {
        List<Integer> nets = paths.locals(gpu, NodeType.NET);
        if (nets.isEmpty()) {
            return -1;
        }
        int sharing = Math.max(1, distinct(gpusOf(nets.get(0))));
        int each = (nets.size() + sharing - 1) / sharing;
        int first = firstOf(((Node.Gpu) paths.topology().node(gpu)).dev(), nets.size());
        return nets.get((first + channel % each) % nets.size());
    }

    private List<Integer> gpusOf(int net) {
        List<Integer> gpus = new ArrayList<>();
        for (int gpu : paths.locals(net, NodeType.GPU)) {
            if (Topology.isGpuOfRank(paths.topology().node(gpu))) {
                gpus.add(gpu);
            }
        }
        return gpus;
    }

    /** Returns the number of different GPUs: ranks on one GPU count once. */
    private int distinct(List<Integer> gpus) {
        return (int) gpus.stream()
                .map(gpu -> ((Node.Gpu) paths.topology().node(gpu)).busId())
                .distinct()
                .count();
    }

    /**
     * Returns the index of the first device that a GPU uses. If the number of devices is a power of two, the bits of
     * the GPU's number are reversed, so that GPUs with successive numbers start far apart.
     */
    private static int firstOf(int dev, int nets) {
        int number = Math.max(0, dev);
        if (nets == 1 || Integer.bitCount(nets) != 1) {
            return number % nets;
        }
        return Integer.reverse(number) >>> (Integer.SIZE - Integer.numberOfTrailingZeros(nets));
    }
}
