package io.jccl.topology;

/**
 * A rank that works on host memory.
 *
 * @param rank its number
 * @param numaNode the NUMA node to which it is bound, -1 if it is not bound to a single one
 */
public record HostRank(int rank, int numaNode) {}
