package io.jccl.cli.launch;

import io.jccl.config.ProcessorSet;
import io.jccl.topology.ProcessorGroups;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The processors that the ranks of a job are bound to. */
public enum Binding {
    /** Each rank is bound to cores of its own. */
    CORE,
    /** Each rank is bound to all processors of a NUMA node, which it shares with the other ranks of that node. */
    NUMA,
    /** Ranks are not bound: the operating system places them. */
    NONE;

    /** Returns the binding with a name in lower case. */
    static Binding named(String name) {
        for (Binding binding : values()) {
            if (binding.text().equals(name)) {
                return binding;
            }
        }
        throw new IllegalArgumentException("bind=\"" + name + "\": unknown; name one of [core, numa, none]");
    }

    /**
     * Returns the processors of each rank, by rank, with a bit for each processor; empty for {@link #NONE}.
     *
     * @param processors processors that this process may use
     * @param shared true if ranks may share processors when there are fewer processors than ranks
     * @throws IllegalArgumentException if the ranks cannot be bound; its message is for the user
     */
    List<BigInteger> split(ProcessorGroups processors, int ranks, boolean shared) {
        if (this == NONE) {
            return List.of();
        }
        int count = processors.open().bitCount();
        if (count == 0) {
            throw new IllegalArgumentException("bind=" + text() + ": found no processor that this process may use, by"
                    + " Cpus_allowed of /proc/self/status and JCCL_CPU_AFFINITY; change these, or use --bind=none");
        }
        if (ranks > count && !shared) {
            throw new IllegalArgumentException("bind=" + text() + " ranks=" + ranks + ": expected at most " + count
                    + ", one for each processor that this process may use ("
                    + ProcessorSet.format(processors.open())
                    + "); start fewer ranks, or let them share processors with --oversubscribe or --bind=none");
        }
        List<BigInteger> parts = parts(coresOrThreads(processors, ranks), ranks);
        if (this == NUMA) {
            List<BigInteger> nodes = processors.nodes();
            parts.replaceAll(part -> nodesOf(part, nodes));
        }
        return parts;
    }

    /** Returns all processors of the nodes that contain any of {@code some}. */
    private static BigInteger nodesOf(BigInteger some, List<BigInteger> nodes) {
        BigInteger all = BigInteger.ZERO;
        for (BigInteger node : nodes) {
            if (node.and(some).signum() != 0) {
                all = all.or(node);
            }
        }
        return all;
    }

    /** Returns the cores, or their hardware threads if there are fewer cores than ranks. */
    private static List<BigInteger> coresOrThreads(ProcessorGroups processors, int ranks) {
        List<BigInteger> cores = processors.cores();
        if (ranks <= cores.size()) {
            return cores;
        }
        List<BigInteger> threads = new ArrayList<>();
        for (BigInteger core : cores) {
            for (int i = core.getLowestSetBit(); i < core.bitLength(); i++) {
                if (core.testBit(i)) {
                    threads.add(BigInteger.ZERO.setBit(i));
                }
            }
        }
        return threads;
    }

    /**
     * Divides groups among ranks, in order and as evenly as possible. A rank gets several groups, or several ranks
     * share a group.
     */
    private static List<BigInteger> parts(List<BigInteger> groups, int ranks) {
        List<BigInteger> parts = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            int first = (int) ((long) rank * groups.size() / ranks);
            int end = (int) ((rank + 1L) * groups.size() / ranks);
            BigInteger part = groups.get(first);
            for (int i = first + 1; i < end; i++) {
                part = part.or(groups.get(i));
            }
            parts.add(part);
        }
        return parts;
    }

    private String text() {
        return name().toLowerCase(Locale.ROOT);
    }
}
