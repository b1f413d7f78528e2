package io.jccl.topology;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * The processors that a process may use.
 *
 * @param count the number of processors that it may keep busy; smaller than the number in {@code allowed} if a quota
 *     applies
 * @param allowed the processors on which it may be scheduled, as a hexadecimal mask; empty if unknown
 */
public record Processors(int count, String allowed) {

    public Processors {
        if (count < 1) {
            throw new IllegalArgumentException("count=" + count + ": expected at least 1");
        }
    }

    /**
     * Returns those processes of one host that share processors with {@code process}, directly or through other
     * processes. Returns all processes if the allowed processors of one are unknown.
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
     * Returns the number of processors that several processes of one host have together. It is the size of the union of
     * their masks, because launchers often bind each process to a part of the host. If a quota limits a process, it is
     * assumed to be shared by all, because a quota does not tell which processes it covers.
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
