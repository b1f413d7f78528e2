package io.jccl;

/** What {@link DataBuffer} has on JDK 22 and later in addition: {@code java22} has that class. */
abstract sealed class DataBufferOnJdk22 permits DataBuffer {}
