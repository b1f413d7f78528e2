package io.jccl;

/**
 * How an operation was carried out.
 *
 * @param algorithm the shape in which data travelled
 * @param protocol how pieces were handed on
 * @param channels how many channels shared the work
 */
public record Execution(Algorithm algorithm, Protocol protocol, int channels) {}
