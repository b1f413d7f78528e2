package io.jccl;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;

/** What {@link HostBuffer} has on JDK 22 and later in addition. */
abstract sealed class HostBufferOnJdk22 permits HostBuffer {

    abstract HostMemory memory();

    /**
     * The whole memory as a segment that any thread may use, also where it is larger than 2 GiB.
     *
     * <p>The segment keeps the memory of a buffer that nobody refers to. It does not keep this buffer open: after
     * {@link HostBuffer#close} it shows memory of its own, which is zero at first, and operations over it are refused.
     *
     * @throws IllegalStateException if the buffer is closed
     */
    public MemorySegment asMemorySegment() {
        HostMemory memory = memory();
        Arena arena = Arena.ofAuto();
        memory.holdOpen(arena.scope());
        Reference.reachabilityFence(this);
        return MemorySegment.ofAddress(memory.address()).reinterpret(memory.bytes(), arena, null);
    }
}
