package io.jccl;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * An arena of shared memory, which frees all its segments together. Small segments are cut from blocks, each of which
 * is the memory of a {@link HostBuffer}. A segment that would fill more than half of a block gets a block of its own.
 */
final class HostArena implements Arena {

    /** The length of a cache line. Segments that begin at a line share no line, so reductions over them are faster. */
    private static final long MIN_ALIGNMENT = 64;

    private static final long MIN_BLOCK_BYTES = 2L << 20; // one huge page
    private static final long MAX_BLOCK_BYTES = 64L << 20;
    private static final long BLOCK_ALIGNMENT = 4096; // the smallest alignment of a block's address

    private final Arena life = Arena.ofShared();
    // the free part of the newest block; guarded by this, like nextBlockBytes
    private MemorySegment rest = MemorySegment.NULL;
    private long nextBlockBytes = MIN_BLOCK_BYTES;

    @Override
    public MemorySegment allocate(long byteSize, long byteAlignment) {
        if (byteSize < 0) {
            throw new IllegalArgumentException("byteSize=" + byteSize + ": expected a size of 0 or more");
        }
        if (byteAlignment <= 0 || Long.bitCount(byteAlignment) != 1) {
            throw new IllegalArgumentException(
                    "byteAlignment=" + byteAlignment + ": expected a power of two, as 64 for the lines of the cache");
        }
        if (!scope().isAlive()) {
            throw new IllegalStateException("byteSize=" + byteSize + ": this arena is closed; open another one");
        }
        long alignment = Math.max(byteAlignment, MIN_ALIGNMENT);
        long bytes = Math.max(byteSize, 1); // so that every segment has a different address
        long needed = bytes + (alignment > BLOCK_ALIGNMENT ? alignment : 0);
        if (needed < 0) {
            throw new IllegalArgumentException("byteSize=" + byteSize + " byteAlignment=" + byteAlignment
                    + ": expected a sum of at most " + Long.MAX_VALUE);
        }
        return cut(bytes, alignment, needed).asSlice(0, byteSize);
    }

    private synchronized MemorySegment cut(long bytes, long alignment, long needed) {
        if (needed > nextBlockBytes / 2) {
            MemorySegment block = block(needed);
            return block.asSlice(padding(block, alignment), bytes);
        }
        long padding = padding(rest, alignment);
        if (padding > rest.byteSize() || bytes > rest.byteSize() - padding) {
            rest = block(nextBlockBytes);
            nextBlockBytes = Math.min(2 * nextBlockBytes, MAX_BLOCK_BYTES);
            padding = padding(rest, alignment);
        }
        MemorySegment segment = rest.asSlice(padding, bytes);
        rest = rest.asSlice(padding + bytes);
        return segment;
    }

    private static long padding(MemorySegment segment, long alignment) {
        return -segment.address() & (alignment - 1);
    }

    private MemorySegment block(long bytes) {
        HostBuffer buffer = HostBuffer.allocate(bytes);
        try {
            return MemorySegment.ofAddress(buffer.address()).reinterpret(bytes, life, ended -> buffer.close());
        } catch (RuntimeException e) { // the arena was closed meanwhile
            buffer.close();
            throw e;
        }
    }

    @Override
    public MemorySegment.Scope scope() {
        return life.scope();
    }

    @Override
    public void close() {
        life.close();
    }

    @Override
    public String toString() {
        return "HostArena[open=" + scope().isAlive() + "]";
    }
}
