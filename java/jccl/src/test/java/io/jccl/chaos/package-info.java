/**
 * Faults by a seed against ranks that are processes: {@code scripts/check-chaos}. {@link io.jccl.chaos.Round} draws what
 * happens, {@link io.jccl.chaos.Worker} is one rank, {@link io.jccl.chaos.Lane} runs a round, and {@link
 * io.jccl.chaos.Judge} decides whether it ended as promised.
 */
package io.jccl.chaos;
