package io.jccl.runtime;

import io.jccl.Collective;
import java.util.Arrays;

/**
 * Cuts a collective on device memory into chunks that pass through slots of host memory. A chunk contains the same
 * range of elements of every block, as far as the block reaches. So ranks that agree on the operation agree on its
 * chunks:
 *
 * <pre>
 *     blocks on the device   │ a a a a a b b b │ a a a a a b │ …       a: chunk 0, b: chunk 1
 *     slot of chunk 1        │ b b b │ b │ …
 * </pre>
 */
final class StagedChunks {

    /** Arrangement of a collective's blocks in a slot. */
    enum Shape {
        /** One block, sent from and received at the same place. */
        SINGLE,
        /** One block of each rank. This rank sends from the place of its own block. */
        GATHERED,
        /** One block for each rank. This rank receives at the place of its own block. */
        SCATTERED,
        /** One block to each rank, then one block from each rank. */
        EXCHANGED;

        static Shape of(Collective collective) {
            return switch (collective) {
                case ALL_GATHER, GATHER -> GATHERED;
                case REDUCE_SCATTER, SCATTER -> SCATTERED;
                case ALL_TO_ALL -> EXCHANGED;
                default -> SINGLE;
            };
        }

        boolean sendsMany() {
            return this == SCATTERED || this == EXCHANGED;
        }

        boolean receivesMany() {
            return this == GATHERED || this == EXCHANGED;
        }
    }

    /**
     * Blocks of a buffer on the device.
     *
     * @param address address of the buffer
     * @param counts number of elements of each block
     * @param offsets first element of each block
     */
    record Blocks(long address, long[] counts, long[] offsets) {

        /** Returns blocks of equal size, one after the other. */
        static Blocks equal(long address, int blocks, long count) {
            long[] counts = new long[blocks];
            long[] offsets = new long[blocks];
            Arrays.fill(counts, count);
            Arrays.setAll(offsets, block -> block * count);
            return new Blocks(address, counts, offsets);
        }

        private long longest() {
            return Arrays.stream(counts).max().orElse(0);
        }
    }

    /**
     * One chunk in its slot.
     *
     * @param from address to send from; 0 if this rank sends nothing
     * @param to address to receive at; 0 if this rank receives nothing
     * @param begin first element of the chunk in each block
     * @param sendCounts number of elements to send of each block; empty if this rank sends nothing
     * @param recvCounts number of elements to receive of each block; empty if this rank receives nothing
     */
    record Chunk(long from, long to, long begin, long[] sendCounts, long[] recvCounts) {

        /** Returns the first element of each of several blocks that follow each other. */
        static long[] offsets(long[] counts) {
            long[] offsets = new long[counts.length];
            for (int i = 1; i < counts.length; i++) {
                offsets[i] = offsets[i - 1] + counts[i - 1];
            }
            return offsets;
        }
    }

    private static final long[] NONE = {};

    private final Shape shape;
    private final int elementBytes;
    private final long maxElements; // maximum number of elements of a block in a chunk
    private final int size;
    private final int rank;
    private final Blocks send; // null if this rank sends nothing
    private final Blocks recv; // null if this rank receives nothing

    StagedChunks(Shape shape, int elementBytes, long slotBytes, int size, int rank, Blocks send, Blocks recv) {
        this.shape = shape;
        this.elementBytes = elementBytes;
        this.size = size;
        this.rank = rank;
        this.send = send;
        this.recv = recv;
        int blocks =
                switch (shape) {
                    case SINGLE -> 1;
                    case GATHERED, SCATTERED -> size;
                    case EXCHANGED -> 2 * size;
                };
        this.maxElements = Math.max(1, slotBytes / elementBytes / blocks);
    }

    /** Returns the number of chunks of this rank, at least 1. In an exchange, other ranks may have more. */
    int count() {
        return count(Math.max(send == null ? 0 : send.longest(), recv == null ? 0 : recv.longest()));
    }

    /**
     * Returns the number of chunks, equal on all ranks, for collectives in which every rank knows the counts of all
     * ranks.
     */
    int count(long[] counts) {
        return count(Arrays.stream(counts).max().orElse(0));
    }

    private int count(long longest) {
        return Math.toIntExact(Math.max(1, (longest + maxElements - 1) / maxElements));
    }

    /** Returns a chunk in the slot at an address. A chunk after the last one is empty. */
    Chunk chunk(int index, long slot) {
        long begin = index * maxElements;
        long[] sends = cut(send, begin);
        long[] recvs = cut(recv, begin);
        long from = send == null ? 0 : slot;
        long to = recv == null ? 0 : slot;
        if (shape == Shape.GATHERED && recv != null) {
            from += Chunk.offsets(recvs)[rank] * elementBytes;
        } else if (shape == Shape.SCATTERED && send != null) {
            to += Chunk.offsets(sends)[rank] * elementBytes;
        } else if (shape == Shape.EXCHANGED) {
            to += size * maxElements * elementBytes;
        }
        return new Chunk(from, to, begin, sends, recvs);
    }

    private long[] cut(Blocks blocks, long begin) {
        return blocks == null ? NONE : cut(blocks.counts(), begin);
    }

    /** Returns the number of elements of each block that belong to the chunk with the first element {@code begin}. */
    long[] cut(long[] counts, long begin) {
        return Arrays.stream(counts)
                .map(count -> Math.max(0, Math.min(maxElements, count - begin)))
                .toArray();
    }

    /** Adds steps that copy a chunk's elements from the send buffer to its slot. */
    void copyIn(Chunk chunk, StreamSteps steps) {
        long[] offsets = Chunk.offsets(chunk.sendCounts());
        for (int block = 0; block < offsets.length; block++) {
            long inSlot = chunk.from() + offsets[block] * elementBytes;
            steps.copy(inSlot, onDevice(send, block, chunk), chunk.sendCounts()[block] * elementBytes);
        }
    }

    /** Adds steps that copy a chunk's elements from its slot to the receive buffer. */
    void copyOut(Chunk chunk, StreamSteps steps) {
        long[] offsets = Chunk.offsets(chunk.recvCounts());
        for (int block = 0; block < offsets.length; block++) {
            long inSlot = chunk.to() + offsets[block] * elementBytes;
            steps.copy(onDevice(recv, block, chunk), inSlot, chunk.recvCounts()[block] * elementBytes);
        }
    }

    private long onDevice(Blocks blocks, int block, Chunk chunk) {
        return blocks.address() + (blocks.offsets()[block] + chunk.begin()) * elementBytes;
    }
}
