package io.jccl;

/**
 * Adds the methods that {@link HostBuffer} has only on JDK 22 and later: {@code java22} contains that version of this
 * class.
 */
abstract sealed class HostBufferOnJdk22 permits HostBuffer {

    abstract HostMemory memory();
}
