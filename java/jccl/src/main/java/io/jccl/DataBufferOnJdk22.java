package io.jccl;

/**
 * Empty before JDK 22. Its version in {@code java22} adds the methods that {@link DataBuffer} has only on later JDKs.
 */
abstract sealed class DataBufferOnJdk22 permits DataBuffer {}
