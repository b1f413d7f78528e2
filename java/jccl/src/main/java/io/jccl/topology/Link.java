package io.jccl.topology;

/**
 * A directed link; the reverse is a link of its own.
 *
 * @param type what it is made of
 * @param bandwidthGBps what it carries in GB/s
 * @param to the index of the node it leads to
 */
public record Link(LinkType type, double bandwidthGBps, int to) {}
