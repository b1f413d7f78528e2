package io.jccl.topology;

import java.util.ArrayList;
import java.util.List;

/** Which GPU and which network devices belong together: each GPU's own card, where cards are shared out among GPUs. */
final class LocalDevices {

    private final PathMatrix paths;

    LocalDevices(PathMatrix paths) {
        this.paths = paths;
    }

    /**
     * The GPU that a network device belongs to, or -1: one of the best reached from it that would itself take this device
     * for one of its channels.
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
     * The network device that a GPU takes for a channel, or -1 where it reaches none. GPUs with the same choice of devices
     * begin at different ones, and take as many in turn as there are for each of them.
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

    /** Ranks on one GPU are one of those that share cards. */
    private int distinct(List<Integer> gpus) {
        return (int) gpus.stream()
                .map(gpu -> ((Node.Gpu) paths.topology().node(gpu)).busId())
                .distinct()
                .count();
    }

    /** Neighbouring GPUs begin far apart: with a power of two by the device number's bits in reverse. */
    private static int firstOf(int dev, int nets) {
        int number = Math.max(0, dev);
        if (nets == 1 || Integer.bitCount(nets) != 1) {
            return number % nets;
        }
        return Integer.reverse(number) >>> (Integer.SIZE - Integer.numberOfTrailingZeros(nets));
    }
}
