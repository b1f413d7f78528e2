package io.jccl;

/**
 * Adds nothing before JDK 22. Its version in {@code java22} adds the methods that {@link HostBuffer} has only on later
 * JDKs.
 */
abstract sealed class HostBufferOnJdk22 permits HostBuffer {

    abstract HostMemory memory();
}
