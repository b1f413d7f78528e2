package io.jccl.tuning;

import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.config.MemorySettings;
import io.jccl.config.Setting;
import io.jccl.config.Settings;
import java.util.Objects;
import java.util.function.ToIntFunction;

/**
 * The properties of a communicator that the cost model needs. Every rank must pass equal values, or the ranks would
 * choose differently: pass the values agreed in the bootstrap, not this rank's own.
 *
 * @param ranks the number of ranks
 * @param hosts the number of hosts
 * @param localRanks the largest number of ranks on one host
 * @param cores number of cores of the host that has the fewest per rank
 * @param channels number of channels of the plan
 * @param treeDepth number of edges between the root of a tree and its deepest rank in the plan
 * @param localTransport the transport between ranks of one host, the slowest if they differ
 * @param netGBps bandwidth of a host's network in GB/s; ignored if there is only one host
 * @param slots payload bytes of one slot for each protocol
 * @param hostsPerCore number of hosts for each core of a machine; more than 1 if a machine has more containers, each of
 *     which counts as a host, than cores
 */
public record CommunicatorShape(
        int ranks,
        int hosts,
        int localRanks,
        int cores,
        int channels,
        int treeDepth,
        TransportKind localTransport,
        double netGBps,
        SlotBytes slots,
        double hostsPerCore) {

    /**
     * Payload bytes of one slot.
     *
     * @param ll bytes for LL
     * @param ll128 bytes for LL128
     * @param simple bytes for SIMPLE
     */
    public record SlotBytes(int ll, int ll128, int simple) {

        private static final int SLOTS = 8;
        /** An LL cell has 8 bytes, of which 4 are payload. The first cell of a slot is its header. */
        private static final int LL_CELL_BYTES = 8;

        private static final int LL128_LINE_BYTES = 128;
        private static final int LL128_PAYLOAD_BYTES = 120;
        private static final int LL128_HEADER_BYTES = 8;

        /**
         * Returns the slots of connections between host ranks, from the memory that the settings give to a connection.
         */
        public static SlotBytes of(Settings settings) {
            return of(settings::get);
        }

        /** Returns the slots of connections between GPUs. */
        public static SlotBytes ofDevices(Settings settings) {
            return of(settings::getForDevices);
        }

        private static SlotBytes of(ToIntFunction<Setting<Integer>> memory) {
            return new SlotBytes(
                    (memory(memory.applyAsInt(MemorySettings.LL_BUFFSIZE)) / LL_CELL_BYTES - 1) * LL_CELL_BYTES / 2,
                    memory(memory.applyAsInt(MemorySettings.LL128_BUFFSIZE)) / LL128_LINE_BYTES * LL128_PAYLOAD_BYTES
                            - LL128_HEADER_BYTES,
                    memory(memory.applyAsInt(MemorySettings.BUFFSIZE)));
        }

        /** Returns the memory of one slot: an eighth of a connection's memory, rounded down to whole lines of LL128. */
        public static int memory(int connectionBytes) {
            return connectionBytes / SLOTS / LL128_LINE_BYTES * LL128_LINE_BYTES;
        }

        /** Refuses slots that are too small for a line. */
        public SlotBytes {
            if (ll < 64 || ll128 < 120 || simple < 64) {
                throw new IllegalArgumentException("ll=" + ll + " ll128=" + ll128 + " simple=" + simple
                        + ": expected at least 64, 120 and 64 bytes a slot; raise the buffer sizes");
            }
        }

        /** Returns the payload bytes of a slot of one protocol. */
        public int of(Protocol protocol) {
            return switch (protocol) {
                case LL -> ll;
                case LL128 -> ll128;
                case SIMPLE -> simple;
            };
        }
    }

    public CommunicatorShape {
        Objects.requireNonNull(localTransport, "localTransport");
        Objects.requireNonNull(slots, "slots");
        if (ranks < 1 || hosts < 1 || hosts > ranks || localRanks < 1 || localRanks > ranks - hosts + 1) {
            throw new IllegalArgumentException("ranks=" + ranks + " hosts=" + hosts + " localRanks=" + localRanks
                    + ": expected 1 <= hosts <= ranks and 1 <= localRanks <= ranks - hosts + 1");
        }
        if (cores < 1 || channels < 1 || treeDepth < 0) {
            throw new IllegalArgumentException("cores=" + cores + " channels=" + channels + " treeDepth=" + treeDepth
                    + ": expected at least 1, 1 and 0");
        }
        if (!(hostsPerCore >= 1)) {
            throw new IllegalArgumentException("hostsPerCore=" + hostsPerCore + ": expected at least 1");
        }
        if (hosts > 1 && !(netGBps > 0)) {
            throw new IllegalArgumentException("netGBps=" + netGBps + ": expected more than 0 between hosts");
        }
    }

    /** A communicator in which every host has a core. */
    public CommunicatorShape(
            int ranks,
            int hosts,
            int localRanks,
            int cores,
            int channels,
            int treeDepth,
            TransportKind localTransport,
            double netGBps,
            SlotBytes slots) {
        this(ranks, hosts, localRanks, cores, channels, treeDepth, localTransport, netGBps, slots, 1);
    }

    /**
     * Returns the number of edges between the root and the deepest host of a double binary tree over {@code hosts}
     * hosts.
     */
    public static int treeDepthOver(int hosts) {
        return hosts == 1 ? 0 : Integer.SIZE - Integer.numberOfLeadingZeros(hosts - 1);
    }

    /** Returns the same communicator with another transport between ranks of one host. */
    public CommunicatorShape over(TransportKind transport) {
        return new CommunicatorShape(
                ranks, hosts, localRanks, cores, channels, treeDepth, transport, netGBps, slots, hostsPerCore);
    }

    /** Returns true if all ranks are on one host. */
    public boolean oneHost() {
        return hosts == 1;
    }

    /** Returns true if all ranks can access each other's memory. */
    public boolean sharesMemory() {
        return oneHost() && !localTransport.isNetwork();
    }

    /** Returns the number of ranks per core on the fullest host, at least 1. Above 1, ranks are time-sliced. */
    public double ranksPerCore() {
        return Math.max(1.0, (double) localRanks / cores);
    }
}
