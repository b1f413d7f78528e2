package io.jccl;

/**
 * Adds the methods that {@link DataBuffer} has only on JDK 22 and later: {@code java22} contains that version of this
 * class.
 */
abstract sealed class DataBufferOnJdk22 permits DataBuffer {}
