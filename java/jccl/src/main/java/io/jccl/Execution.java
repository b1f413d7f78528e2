package io.jccl;

/**
 * How an operation was executed.
 *
 * @param algorithm the shape in which data travelled
 * @param protocol how chunks were passed on
 * @param channels how many channels shared the work
 */
public record Execution(Algorithm algorithm, Protocol protocol, int channels) {}
