package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Protocol;
import java.util.List;

/**
 * Minimum number of bytes for each thread of a channel before another channel is used ({@code JCCL_THREAD_THRESHOLDS}).
 *
 * @param bytes values for tree with LL, LL128 and SIMPLE, then for ring with LL, LL128 and SIMPLE; missing and negative
 *     numbers mean the built-in values
 */
public record ThreadThresholds(List<Integer> bytes) {

    private static final int MAX_COUNT = 6;
    /**
     * Values for LL, LL128 and SIMPLE. Source: NCCL's public defaults (thread thresholds of its device header). A
     * thread of LL moves 8 bytes at once; a thread of SIMPLE keeps eight such words in flight.
     */
    private static final int[] DEFAULTS = {8, 8, 64};

    public ThreadThresholds {
        bytes = List.copyOf(bytes);
        if (bytes.size() > MAX_COUNT) {
            throw new IllegalArgumentException("bytes=" + bytes + ": expected at most " + MAX_COUNT + " numbers");
        }
    }

    /** Returns the built-in values. */
    public static ThreadThresholds defaults() {
        return new ThreadThresholds(List.of());
    }

    /**
     * Returns the minimum number of bytes of the operation for each thread.
     *
     * @param ranks the number of ranks: a ring divides its data into that many shards, and with LL each shard must keep
     *     the threads busy
     */
    long of(Algorithm algorithm, Protocol protocol, int ranks) {
        int at = (algorithm == Algorithm.TREE ? 0 : Protocol.values().length) + protocol.ordinal();
        if (at < bytes.size() && bytes.get(at) >= 0) {
            return bytes.get(at);
        }
        boolean shards = algorithm == Algorithm.RING && protocol == Protocol.LL;
        return (long) DEFAULTS[protocol.ordinal()] * (shards ? ranks : 1);
    }
}
