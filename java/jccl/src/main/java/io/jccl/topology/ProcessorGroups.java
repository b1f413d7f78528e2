package io.jccl.topology;

import java.math.BigInteger;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The processors that this process may use, grouped by core and by NUMA node. A set of processors is a number with one
 * bit per processor.
 */
public final class ProcessorGroups {

    private final SystemFiles files;
    private final BigInteger open;

    private ProcessorGroups(SystemFiles files, BigInteger open) {
        this.files = files;
        this.open = open;
    }

    /** Reads the processors of this host. */
    public static ProcessorGroups ofThisHost() {
        return of(Path.of("/"));
    }

    /**
     * Reads the processors of a host whose kernel files are below a folder.
     *
     * @param root the folder that replaces {@code /}
     */
    public static ProcessorGroups of(Path root) {
        SystemFiles files = new SystemFiles(root);
        return new ProcessorGroups(files, mask(CpuMask.ofThisProcess(files)));
    }

    /** Returns the subset of these processors that is also in a given set. */
    public ProcessorGroups within(BigInteger processors) {
        return new ProcessorGroups(files, open.and(processors));
    }

    private static BigInteger mask(String text) {
        return CpuMask.isAny(text) ? CpuMask.parse(text) : BigInteger.ZERO;
    }

    /**
     * Adds the part of {@code group} that is in {@code left} to the groups, unless it is empty. Returns {@code left}
     * without that part.
     */
    private static BigInteger take(BigInteger group, BigInteger left, List<BigInteger> groups) {
        BigInteger taken = group.and(left);
        if (taken.signum() != 0) {
            groups.add(taken);
        }
        return left.andNot(taken);
    }

    /** Returns the processors on which this process may be scheduled; empty if the kernel does not report them. */
    public BigInteger open() {
        return open;
    }

    /** Returns these processors by NUMA node, without the nodes that have none of them. */
    public List<BigInteger> nodes() {
        List<BigInteger> nodes = new ArrayList<>();
        BigInteger left = open;
        CpuNodes kernel = new CpuNodes(files, "");
        for (int node : kernel.list()) {
            left = take(mask(kernel.affinity(node)), left, nodes);
        }
        take(left, left, nodes); // processors of no reported node are one group
        return nodes;
    }

    /**
     * Returns these processors by core; a core has one or several hardware threads. Cores of one node are adjacent in
     * the list.
     */
    public List<BigInteger> cores() {
        List<BigInteger> cores = new ArrayList<>();
        for (BigInteger node : nodes()) {
            for (BigInteger left = node; left.signum() != 0; ) {
                int processor = left.getLowestSetBit();
                left = take(siblings(processor).setBit(processor), left, cores);
            }
        }
        return cores;
    }

    private BigInteger siblings(int processor) {
        return mask(files.line("sys/devices/system/cpu/cpu" + processor + "/topology/thread_siblings")
                .orElse(""));
    }
}
