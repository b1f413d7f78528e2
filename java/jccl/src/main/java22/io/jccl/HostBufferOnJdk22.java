package io.jccl;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;

/** What {@link HostBuffer} has on JDK 22 and later in addition. */
abstract sealed class HostBufferOnJdk22 permits HostBuffer {

    abstract HostMemory memory();

    /**
     * Opens an arena whose segments are memory of this class: the other ranks of this host use them in place, as they use a
     * {@link HostBuffer}, without a registration. Give the segments to {@link DataBuffer#of(MemorySegment, DataType)}. Any
     * thread may allocate and use them.
     *
     * <p>Segments start zeroed, at addresses that are multiples of 64 at least. Small ones share blocks of 2 MiB and more, in
     * which no memory is free before the arena is closed. Larger ones have the pages that {@link HostBuffer#allocate} gives them.
     *
     * <p>{@code close()} ends all segments. Unlike an {@code Arena.ofShared()}, it may be called while an operation over a
     * segment is executed: the memory stays until that operation has ended. An arena that nobody closes keeps its memory.
     */
    public static Arena openArena() {
        return new HostArena();
    }

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
