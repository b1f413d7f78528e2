package io.jccl.topology;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

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
     * Those of several processes of one host that share processors with a process, directly or through others. Where it is
     * not known what a process may run on, all of them.
     */
    public static List<Processors> sharing(Processors process, List<Processors> processes) {
        for (Processors other : processes) {
            if (!CpuMask.isAny(other.allowed)) {
                return List.copyOf(processes);
            }
        }
        BigInteger shared = CpuMask.parse(process.allowed);
        for (BigInteger before = BigInteger.ZERO; !before.equals(shared); ) {
            before = shared;
            for (Processors other : processes) {
                BigInteger mask = CpuMask.parse(other.allowed);
                shared = mask.and(shared).signum() == 0 ? shared : shared.or(mask);
            }
        }
        List<Processors> sharing = new ArrayList<>();
        for (Processors other : processes) {
            if (CpuMask.parse(other.allowed).and(shared).signum() != 0) {
                sharing.add(other);
            }
        }
        return sharing;
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
