package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.internal.HeapAccess;
import java.nio.Buffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/** Finds out whether buffers share memory. */
final class Aliasing {

    private Aliasing() {}

    /**
     * Returns true if both buffers are exactly the same elements of the same memory.
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

    /**
     * Returns true if any byte belongs to both buffers. Heap buffers without an accessible array are assumed not to
     * overlap.
     */
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

    /**
     * Checks that no two of the buffers overlap.
     *
     * @throws IllegalArgumentException if any byte belongs to two of the buffers
     */
    static void requireApart(List<DataBuffer> buffers) {
        Map<Object, List<DataBuffer>> places = new IdentityHashMap<>(); // key: heap array; for native memory, this map
        for (DataBuffer buffer : buffers) {
            Buffer heap = HeapStaging.isHeap(buffer) ? HeapAccess.of(buffer) : null;
            Object place = heap == null ? places : heap.hasArray() ? heap.array() : heap;
            places.computeIfAbsent(place, at -> new ArrayList<>()).add(buffer);
        }
        for (List<DataBuffer> ofOne : places.values()) {
            ofOne.sort(Comparator.comparingLong(Aliasing::begin));
            DataBuffer before = null;
            for (DataBuffer buffer : ofOne) {
                if (before != null && overlap(before, buffer)) {
                    throw new IllegalArgumentException(
                            "buffers=" + before + " and " + buffer + " overlap: expected buffers of separate memory");
                }
                before = buffer.count() == 0 ? before : buffer;
            }
        }
    }

    private static long begin(DataBuffer buffer) {
        if (!HeapStaging.isHeap(buffer)) {
            return buffer.pinnedAddress();
        }
        Buffer heap = HeapAccess.of(buffer);
        return heap.position() + (heap.hasArray() ? heap.arrayOffset() : 0);
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
