package io.jccl.collnet;

import io.jccl.nativelib.DeviceEngine;
import java.util.Optional;

/** CollNet of an engine on a GPU. */
final class NativeDeviceCollNet {

    private NativeDeviceCollNet() {}

    /**
     * A rank's place in the chain of its host to the network, on one channel. A rank that does not exist is -1.
     *
     * @param up next rank towards the leader
     * @param down next rank away from the leader
     * @param after for a leader, the leader of the next host
     * @param before for a leader, the leader of the previous host
     * @param ranks count of ranks from this rank on, away from the leader
     * @param place position of this rank among these ranks, in the order of their numbers
     */
    record ChainPlace(int up, int down, int after, int before, int ranks, int place) {}

    static void setChain(DeviceEngine device, int channel, ChainPlace at) {
        device.require("chain of channel=" + channel, setChain(device.address(), channel, new int[] {
            at.up(), at.down(), at.after(), at.before(), at.ranks(), at.place()
        }));
    }

    /**
     * Sets this rank's place in the tree of its host to the network, on a channel whose chain is set. The leader is the
     * root of the tree.
     *
     * @param up parent, -1 for the leader
     * @param down children
     */
    static void setHostTree(DeviceEngine device, int channel, int up, int[] down) {
        device.require("tree of the host, channel=" + channel, setHostTree(device.address(), channel, up, down));
    }

    /**
     * Lets the network reduce on the first channels. Must precede {@link DeviceEngine#prepare}.
     *
     * @param rows what {@link NativeCollNet#stage} has returned
     * @param memory of the host's engine ({@link io.jccl.nativelib.NativeEngine#shareMemory})
     * @return the reason of a failure, or empty
     */
    static Optional<String> connect(DeviceEngine device, long[] rows, long memory) {
        return device.failure(connect(device.address(), rows, memory));
    }

    /** Stops using the network. */
    static void drop(DeviceEngine device) {
        drop(device.address());
    }

    // Natives that return an int return a code.

    private static native int setChain(long device, int channel, int[] place);

    private static native int setHostTree(long device, int channel, int up, int[] down);

    private static native int connect(long device, long[] rows, long memory);

    private static native void drop(long device);
}
