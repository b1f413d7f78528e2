package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Protocol;
import java.util.List;

/**
 * How many bytes each thread of a channel should have before a further channel is used ({@code JCCL_THREAD_THRESHOLDS}).
 *
 * @param bytes tree with LL, LL128 and SIMPLE, then ring with LL, LL128 and SIMPLE; shorter lists and negative numbers
 *     leave the built-in values
 */
public record ThreadThresholds(List<Integer> bytes) {

    private static final int MAX_COUNT = 6;
    /**
     * LL, LL128, SIMPLE. Source: NCCL's public defaults (thread thresholds of its device header): a thread of LL moves 8
     * bytes at once, one of SIMPLE keeps eight such words in flight.
     */
    private static final int[] DEFAULTS = {8, 8, 64};

    /** Takes a copy. */
    public ThreadThresholds {
        bytes = List.copyOf(bytes);
        if (bytes.size() > MAX_COUNT) {
            throw new IllegalArgumentException("bytes=" + bytes + ": expected at most " + MAX_COUNT + " numbers");
        }
    }

    /** The built-in values. */
    public static ThreadThresholds defaults() {
        return new ThreadThresholds(List.of());
    }

    /**
     * Bytes of the operation for each thread.
     *
     * @param ranks the number of ranks: a ring cuts its data into as many shards, and with LL each must keep threads
     *     busy
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
