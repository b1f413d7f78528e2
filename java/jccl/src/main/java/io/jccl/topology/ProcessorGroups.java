package io.jccl.topology;

import java.math.BigInteger;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The processors that this process may use, by core and by NUMA node. Sets of processors have a bit for each. */
public final class ProcessorGroups {

    private final SystemFiles files;
    private final BigInteger open;

    private ProcessorGroups(SystemFiles files, BigInteger open) {
        this.files = files;
        this.open = open;
    }

    /** This host. */
    public static ProcessorGroups ofThisHost() {
        return of(Path.of("/"));
    }

    /**
     * A host made of files.
     *
     * @param root what stands for {@code /}
     */
    public static ProcessorGroups of(Path root) {
        SystemFiles files = new SystemFiles(root);
        return new ProcessorGroups(files, mask(CpuMask.ofThisProcess(files)));
    }

    /** Those of these processors that belong to a set. */
    public ProcessorGroups within(BigInteger processors) {
        return new ProcessorGroups(files, open.and(processors));
    }

    private static BigInteger mask(String text) {
        return CpuMask.isAny(text) ? CpuMask.parse(text) : BigInteger.ZERO;
    }

    /** Adds those of a group that are left, if there are any. Returns the others. */
    private static BigInteger take(BigInteger group, BigInteger left, List<BigInteger> groups) {
        BigInteger taken = group.and(left);
        if (taken.signum() != 0) {
            groups.add(taken);
        }
        return left.andNot(taken);
    }

    /** The processors that this process may be scheduled on; none where the kernel does not say. */
    public BigInteger open() {
        return open;
    }

    /** Those of each NUMA node that has some. */
    public List<BigInteger> nodes() {
        List<BigInteger> nodes = new ArrayList<>();
        BigInteger left = open;
        CpuNodes kernel = new CpuNodes(files, "");
        for (int node : kernel.list()) {
            left = take(mask(kernel.affinity(node)), left, nodes);
        }
        take(left, left, nodes); // where the kernel reports no nodes, all are on one
        return nodes;
    }

    /** Those of each core, one or several hardware threads; cores of one node are neighbours. */
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
