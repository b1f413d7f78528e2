package io.jccl;

/**
 * How an operation was executed.
 *
 * @param algorithm the pattern in which data travelled
 * @param protocol how chunks and their arrival were written
 * @param channels the number of channels that shared the work
 */
public record Execution(Algorithm algorithm, Protocol protocol, int channels) {}
