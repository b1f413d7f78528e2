package io.jccl.lightgbm;

import java.time.Duration;

/**
 * What a network has done so far on this rank.
 *
 * @param operations reduce-scatters and all-gathers; LightGBM makes its all-reduces of these
 * @param bytes what went into reduce-scatters, and came out of all-gathers
 * @param time spent in them, which includes waiting for slower ranks
 */
public record NetworkUsage(long operations, long bytes, Duration time) {}
