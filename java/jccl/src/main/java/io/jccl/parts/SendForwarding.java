package io.jccl.parts;

import io.jccl.nativelib.DeviceEngine;
import io.jccl.nativelib.NativeEngine;
import java.util.List;
import java.util.Optional;
import java.util.function.BiPredicate;
import java.util.function.IntFunction;

/**
 * Lets ranks send through GPUs of other ranks of their host, the forwarders. Ranks call the methods in the order in
 * which they are declared.
 */
public interface SendForwarding {

    /** Forwards nothing: all connections lead through the GPU of the rank that sends, or through host memory. */
    SendForwarding NONE = new SendForwarding() {

        @Override
        public int agree(List<Send> mine, BiPredicate<Integer, Integer> sameHost) {
            return 0;
        }

        @Override
        public void offer(DeviceEngine device, NativeEngine host) {}

        @Override
        public void take(
                DeviceEngine device,
                NativeEngine host,
                IntFunction<byte[]> connectInfo,
                IntFunction<Optional<String>> obstacle) {}
    };

    /**
     * A connection of this rank that leads through a forwarder.
     *
     * @param device the number of the network device by which it leaves the host
     * @param ahead true if a ring or a tree needs it, so that it is made during initialisation
     */
    record Send(int forwarder, int to, int channel, int device, boolean ahead) {}

    /**
     * Exchanges the connections for which ranks ask; all ranks call this together.
     *
     * @param mine the connections of this rank
     * @param sameHost returns true for two ranks of one host
     * @return the number of connections that this rank forwards
     */
    int agree(List<Send> mine, BiPredicate<Integer, Integer> sameHost);

    /**
     * Offers the slots that the GPU has for connections of other ranks.
     *
     * @param host the host's engine for connections between GPUs, which has not yet made its connect information
     */
    void offer(DeviceEngine device, NativeEngine host);

    /**
     * Lets this rank's sends use its forwarders' GPUs. If a forwarder is not reached, its connections use host memory.
     *
     * @param connectInfo returns what a rank's {@code host} has sent to its peers
     * @param obstacle returns the reason why this rank's GPU does not reach the memory of a rank's GPU; empty if it does
     */
    void take(
            DeviceEngine device,
            NativeEngine host,
            IntFunction<byte[]> connectInfo,
            IntFunction<Optional<String>> obstacle);
}
