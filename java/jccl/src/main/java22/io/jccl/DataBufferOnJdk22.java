package io.jccl;

import io.jccl.internal.Arguments;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Adds the methods that {@link DataBuffer} has only on JDK 22 and later. */
abstract sealed class DataBufferOnJdk22 permits DataBuffer {

    /**
     * Returns all elements of a native memory segment, without a copy. The address of the segment may have any
     * alignment.
     *
     * <p>The segment's arena must stay open until the operations over the buffer have ended. Issuing an operation over
     * a closed arena throws. While an operation is executed, {@code Arena.close} throws an {@link
     * IllegalStateException}. If the arena is closed after the operation was issued and before it begins, the operation
     * fails, and its communicator with it. An arena of {@code Arena.ofAuto()} stays open by itself. Pass the segment
     * itself: none of this is checked for the buffer that its {@code asByteBuffer()} returns. The sends and receives of
     * a group may use segments of up to 16 arenas.
     *
     * @param segment a native segment whose size is a multiple of the type's size, of an arena that any thread may use.
     *     A pointer that native code returned has size 0 until it is reinterpreted
     * @param type the type of the elements, which are in native byte order
     * @throws IllegalArgumentException if the segment is on the heap, belongs to a confined arena, or has another size
     * @throws IllegalStateException if the segment's arena is closed
     */
    public static DataBuffer of(MemorySegment segment, DataType type) {
        Arguments.required("segment", segment, "a native memory segment");
        DataBuffer.required(type);
        if (!segment.isNative()) {
            throw new IllegalArgumentException("segment=" + segment
                    + ": expected native memory; give the array itself to DataBuffer.of, or allocate in an Arena");
        }
        SegmentLife life = new SegmentLife(segment);
        life.requireOpen();
        if (!segment.isAccessibleBy(new Thread(() -> {}))) {
            throw new IllegalArgumentException(
                    "segment=" + segment + " arena=confined: expected memory that any thread of"
                            + " the communicator may use; allocate it in Arena.ofAuto() or Arena.ofShared()");
        }
        if (segment.byteSize() % type.bytes() != 0) {
            throw new IllegalArgumentException("byteSize=" + segment.byteSize() + " type=" + type.label()
                    + ": expected a multiple of " + type.bytes() + " bytes; take a slice of the segment");
        }
        return DataBuffer.ofSegment(
                segment.address(), segment.byteSize() / type.bytes(), type, segment.isReadOnly(), segment, life);
    }

    /** The lifetime of a segment's memory. A pin cannot keep the arena open, but {@link #runHeld} can. */
    private record SegmentLife(MemorySegment segment) implements MemoryLife {

        private static final MemorySegment.Scope FOR_EVER = Arena.global().scope();

        @Override
        public void requireOpen() {
            if (!segment.scope().isAlive()) {
                throw new IllegalStateException("segment=" + segment
                        + ": its arena is closed; close it after the last operation over it has ended");
            }
        }

        @Override
        public void pin() {
            requireOpen();
        }

        @Override
        public void unpin() {}

        @Override
        public @Nullable Object held() {
            MemorySegment.Scope arena = segment.scope();
            return arena.equals(FOR_EVER) ? null : arena;
        }

        @Override
        public long runHeld(LongSupplier operation) {
            return ArenaHold.run(segment, operation);
        }
    }
}
