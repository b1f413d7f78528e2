package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.internal.HeapAccess;
import java.nio.Buffer;

/** Which buffers share memory. */
final class Aliasing {

    private Aliasing() {}

    /**
     * Whether both buffers are exactly the same elements of the same memory.
     *
     * @param second may be null
     */
    static boolean isSame(DataBuffer first, DataBuffer second) {
        if (first == second) {
            return true;
        }
        if (second == null || second.memory() != first.memory() || second.bytes() != first.bytes()) {
            return false;
        }
        return HeapStaging.isHeap(first)
                ? isSame(HeapAccess.of(first), HeapAccess.of(second))
                : first.pinnedAddress() == second.pinnedAddress();
    }

    /** Whether any byte belongs to both buffers. Heap buffers without an accessible array are taken to be apart. */
    static boolean overlap(DataBuffer first, DataBuffer second) {
        if (first.count() == 0 || second.count() == 0 || HeapStaging.isHeap(first) != HeapStaging.isHeap(second)) {
            return false;
        }
        if (HeapStaging.isHeap(first)) {
            return overlap(HeapAccess.of(first), first.bytes(), HeapAccess.of(second), second.bytes());
        }
        return first.pinnedAddress() < second.pinnedAddress() + second.bytes()
                && second.pinnedAddress() < first.pinnedAddress() + first.bytes();
    }

    private static boolean isSame(Buffer first, Buffer second) {
        return first == second
                || (isOfOneArray(first, second)
                        && first.arrayOffset() + first.position() == second.arrayOffset() + second.position());
    }

    private static boolean overlap(Buffer first, long firstBytes, Buffer second, long secondBytes) {
        if (!isOfOneArray(first, second)) {
            return false;
        }
        long elementBytes = firstBytes / first.remaining();
        long firstBegin = (first.arrayOffset() + (long) first.position()) * elementBytes;
        long secondBegin = (second.arrayOffset() + (long) second.position()) * elementBytes;
        return firstBegin < secondBegin + secondBytes && secondBegin < firstBegin + firstBytes;
    }

    private static boolean isOfOneArray(Buffer first, Buffer second) {
        return first.hasArray() && second.hasArray() && first.array() == second.array();
    }
}
