package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Collective;

/**
 * What an operation has to do, counted: the amounts that the constants of {@link HostCosts} are multiplied with. The
 * cost model prices it, calibration solves for the prices.
 *
 * @param localHops hand-overs between ranks of one machine on the longest way
 * @param netHops hand-overs between machines on that way
 * @param steps steps that the busiest rank handles one after the other
 * @param bytes bytes that the busiest rank hands on, with the filling of the pipeline
 */
public record Effort(double localHops, double netHops, double steps, double bytes) {

    private static final int MAX_NEIGHBOURS = 3;
    /** Slots of a connection, kSlots in the native library: so many steps a rank can take before it waits. */
    static final int SLOTS = 8;

    private static final int BYTES_WORTH_A_HOP = 12 * 1024;
    private static final int OWN_CACHE_BYTES = 1024 * 1024;

    /** Bytes of the operation are the larger of a rank's send and receive buffer; they are split over the channels. */
    public static Effort of(
            Collective collective,
            Algorithm algorithm,
            CommunicatorShape shape,
            double bytes,
            int channels,
            int chunkBytes) {
        double share = bytes / channels;
        return switch (algorithm) {
            case RING -> ring(collective, shape, share, chunkBytes);
            case TREE -> tree(shape, share, chunkBytes);
            case DIRECT -> inShards(collective, algorithm, shape, bytes)
                    ? directInShards(shape, share, chunkBytes)
                    : direct(collective, shape, share, chunkBytes);
        };
    }

    private static Effort ring(Collective collective, CommunicatorShape shape, double share, int chunkBytes) {
        int ranks = shape.ranks();
        int around = ranks - 1;
        return switch (collective) {
            case ALL_REDUCE -> rotating(shape, 2 * around, share / ranks, chunkBytes);
            case ALL_GATHER, REDUCE_SCATTER -> rotating(shape, around, share / ranks, chunkBytes);
            case BARRIER -> rotating(shape, 2 * around, 1, chunkBytes);
            default -> pipelined(shape, around, share, chunkBytes);
        };
    }

    /** Every rank works on another piece in every step: the pieces rotate, in rounds of one chunk each. */
    private static Effort rotating(CommunicatorShape shape, int steps, double piece, int chunkBytes) {
        double rounds = Math.max(1, Math.ceil(piece / chunkBytes));
        return new Effort(localPart(shape, steps), netPart(shape, steps), rounds * steps, steps * piece);
    }

    /** Chunks follow each other along a chain of ranks. */
    private static Effort pipelined(CommunicatorShape shape, int hops, double share, int chunkBytes) {
        double chunks = Math.max(1, Math.ceil(share / chunkBytes));
        double steps = chunks + hops; // the last rank works on the last chunk when all others are done
        return new Effort(localPart(shape, hops), netPart(shape, hops), steps, steps * Math.min(chunkBytes, share));
    }

    /**
     * Up and down again. The busiest rank has up to three neighbours, and about half of its work for the second and the third
     * overlaps: 4 ranks of 2 cores took half as long again as the ring for 4 and 16 MiB.
     */
    private static Effort tree(CommunicatorShape shape, double share, int chunkBytes) {
        double chunks = Math.max(1, Math.ceil(share / chunkBytes));
        int net = Math.min(shape.treeDepth(), CommunicatorShape.treeDepthOver(shape.machines()));
        int local = shape.treeDepth() - net;
        double hops = 2.0 * (local + net);
        double steps = 2 * chunks + hops - 2;
        double busy = (1 + Math.min(MAX_NEIGHBOURS, shape.ranks() - 1)) / 2.0;
        return new Effort(2.0 * local, 2.0 * net, steps, busy * Math.max(0, steps) * Math.min(chunkBytes, share));
    }

    /**
     * Whether a direct all-reduce goes in shards: two hops instead of one, and every rank hands on 2 (n-1) / n of the data
     * instead of n-1 times. Only in memory, and only while the slots of a rank that are used in turn fit into a core's own
     * cache: 4 ranks do so from 8 to 128 KiB.
     */
    static boolean inShards(Collective collective, Algorithm algorithm, CommunicatorShape shape, double bytes) {
        int ranks = shape.ranks();
        double saved = (ranks - 1) * (1 - 2.0 / ranks) * bytes;
        return collective == Collective.ALL_REDUCE
                && algorithm == Algorithm.DIRECT
                && shape.sharesMemory()
                && saved >= BYTES_WORTH_A_HOP
                && (ranks - 1) * SLOTS * bytes / ranks <= OWN_CACHE_BYTES;
    }

    private static Effort directInShards(CommunicatorShape shape, double share, int chunkBytes) {
        int peers = shape.ranks() - 1;
        double shard = share / shape.ranks();
        double chunks = Math.max(1, Math.ceil(shard / chunkBytes));
        return new Effort(2, 0, 2 * chunks * peers, 2 * shard * peers);
    }

    /** Every rank with every other, all in one hop. */
    private static Effort direct(Collective collective, CommunicatorShape shape, double share, int chunkBytes) {
        int peers = shape.ranks() - 1;
        double toEach =
                switch (collective) {
                    case ALL_REDUCE, REDUCE, BROADCAST -> share;
                    case SEND_RECV -> share / Math.max(1, peers);
                    case BARRIER -> 1;
                    default -> share / shape.ranks();
                };
        double chunks = Math.max(1, Math.ceil(toEach / chunkBytes));
        boolean far = !shape.oneMachine();
        return new Effort(far ? 0 : 1, far ? 1 : 0, chunks * peers, toEach * peers);
    }

    private static double netPart(CommunicatorShape shape, int hops) {
        return shape.oneMachine() ? 0 : (double) hops * shape.machines() / shape.ranks();
    }

    private static double localPart(CommunicatorShape shape, int hops) {
        return hops - netPart(shape, hops);
    }
}
