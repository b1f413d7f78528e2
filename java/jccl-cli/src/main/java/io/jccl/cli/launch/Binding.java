package io.jccl.cli.launch;

import io.jccl.config.ProcessorSet;
import io.jccl.topology.ProcessorGroups;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** What the ranks of a job are bound to. */
public enum Binding {
    /** Cores of its own for each rank. */
    CORE,
    /** The processors of a NUMA node, shared by the ranks of that node. */
    NUMA,
    /** Nothing: the system places the ranks. */
    NONE;

    /** Reads a name in lower case. */
    static Binding named(String name) {
        for (Binding binding : values()) {
            if (binding.text().equals(name)) {
                return binding;
            }
        }
        throw new IllegalArgumentException("bind=\"" + name + "\": unknown; name one of [core, numa, none]");
    }

    /**
     * What each rank is bound to, by rank, a bit for each processor; empty for {@link #NONE}.
     *
     * @param processors those that this process may use
     * @param shared whether ranks may share processors where there is not one for each
     * @throws IllegalArgumentException with the message that a user needs
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

    /** All processors of the nodes of some. */
    private static BigInteger nodesOf(BigInteger some, List<BigInteger> nodes) {
        BigInteger all = BigInteger.ZERO;
        for (BigInteger node : nodes) {
            if (node.and(some).signum() != 0) {
                all = all.or(node);
            }
        }
        return all;
    }

    /** Hardware threads where there are not enough cores. */
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

    /** Deals out groups in their order, as evenly as can be: several to each rank, or several ranks to each. */
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
