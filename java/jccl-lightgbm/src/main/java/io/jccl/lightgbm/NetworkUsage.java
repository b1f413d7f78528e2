package io.jccl.lightgbm;

import java.time.Duration;

/**
 * The work of a network on this rank so far.
 *
 * @param operations number of reduce-scatters and all-gathers, from which LightGBM also composes its all-reduces
 * @param bytes total size of the input of reduce-scatters and of the output of all-gathers
 * @param time time spent in these operations, including waits for slower ranks
 */
public record NetworkUsage(long operations, long bytes, Duration time) {}
