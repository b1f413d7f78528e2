package io.jccl.topology;

import java.math.BigInteger;
import java.util.Collection;

/**
 * What a process may run on.
 *
 * @param count how many processors it may keep busy; fewer than {@code allowed} names where a quota limits it
 * @param allowed the processors it may be scheduled on, as a hexadecimal mask; empty where not known
 */
public record Processors(int count, String allowed) {

    /** Checks the count. */
    public Processors {
        if (count < 1) {
            throw new IllegalArgumentException("count=" + count + ": expected at least 1");
        }
    }

    /**
     * How many processors several processes of one host have between them. Launchers often bind each process to a part
     * of the host, so the parts are put together. A quota says nothing about whose it is; it is taken to be shared.
     */
    public static int together(Collection<Processors> processes) {
        int max = 1;
        for (Processors process : processes) {
            max = Math.max(max, process.count);
        }
        BigInteger union = BigInteger.ZERO;
        for (Processors process : processes) {
            BigInteger mask = CpuMask.isValid(process.allowed) ? CpuMask.parse(process.allowed) : BigInteger.ZERO;
            if (mask.bitCount() != process.count) {
                return max;
            }
            union = union.or(mask);
        }
        return Math.max(max, union.bitCount());
    }
}
