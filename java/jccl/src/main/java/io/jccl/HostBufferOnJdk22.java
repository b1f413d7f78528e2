package io.jccl;

/** What {@link HostBuffer} has on JDK 22 and later in addition: {@code java22} has that class. */
abstract sealed class HostBufferOnJdk22 permits HostBuffer {

    abstract HostMemory memory();
}
