package io.jccl;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;

/** Adds the methods that {@link HostBuffer} has only on JDK 22 and later. */
abstract sealed class HostBufferOnJdk22 permits HostBuffer {

    abstract HostMemory memory();

    /**
     * Opens an arena of memory like that of a {@link HostBuffer}: the ranks of this host use its segments in place,
     * without a registration. Pass the segments to {@link DataBuffer#of(MemorySegment, DataType)}. Any thread may
     * allocate and use them.
     *
     * <p>Segments start zeroed, and their addresses are multiples of at least 64. Small segments share blocks of 2 MiB
     * and more, which are freed only when the arena is closed. Larger segments have the same kinds of pages as {@link
     * HostBuffer#allocate}.
     *
     * <p>{@code close()} ends all segments. Unlike the arena of {@code Arena.ofShared()}, this one can be closed while
     * an operation over a segment is executed: the memory stays until that operation has ended. An arena that is never
     * closed is never freed.
     */
    public static Arena openArena() {
        return new HostArena();
    }

    /**
     * Returns the whole memory as a segment that any thread may use, even if it is larger than 2 GiB.
     *
     * <p>While the segment is reachable, the garbage collector does not free the memory. The segment does not keep this
     * buffer open, however: after {@link HostBuffer#close} the segment shows separate memory, which is zero at first,
     * and operations refuse it.
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
