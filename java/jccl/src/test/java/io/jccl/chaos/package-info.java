/**
 * Rounds of chaos, in which faults drawn from a seed strike ranks that are processes: {@code scripts/check-chaos}.
 * {@link io.jccl.chaos.Round} draws a round, {@link io.jccl.chaos.Worker} is one rank, {@link io.jccl.chaos.Lane} runs
 * a round, and {@link io.jccl.chaos.Judge} decides whether the round ended as promised.
 */
package io.jccl.chaos;
