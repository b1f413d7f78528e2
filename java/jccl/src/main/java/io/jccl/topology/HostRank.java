package io.jccl.topology;

/**
 * A rank that works on host memory.
 *
 * @param rank its number
 * @param numaNode the NUMA node it runs on, -1 where it is bound to none
 */
public record HostRank(int rank, int numaNode) {}
