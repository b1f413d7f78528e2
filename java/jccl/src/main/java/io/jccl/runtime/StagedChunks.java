package io.jccl.runtime;

import io.jccl.Collective;
import java.util.Arrays;

/**
 * How a collective on device memory passes through slots of host memory in chunks. Every chunk has the same elements of every
 * block, as far as the block goes, so ranks that agree on the operation agree on its chunks:
 *
 * <pre>
 *     blocks on the device   │ a a a a a b b b │ a a a a a b │ …       a: chunk 0, b: chunk 1
 *     slot of chunk 1        │ b b b │ b │ …
 * </pre>
 */
final class StagedChunks {

    /** How the blocks of a collective lie in a slot. */
    enum Shape {
        /** One block, worked on in place. */
        SINGLE,
        /** A block of every rank, into which this rank's own is sent from its place. */
        GATHERED,
        /** A block for every rank, of which this rank's own is where it receives. */
        SCATTERED,
        /** A block to every rank, and one from each. */
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
     * @param address where the buffer begins
     * @param counts elements of each block
     * @param offsets the element at which each begins
     */
    record Blocks(long address, long[] counts, long[] offsets) {

        /** Blocks of one size, one after the other. */
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
     * @param from where it is sent from; 0 where this rank sends nothing
     * @param to where it is received; 0 where this rank receives nothing
     * @param begin the element of each block at which it begins
     * @param sendCounts elements of each block to send; empty where there are none
     * @param recvCounts elements of each block to receive; empty where there are none
     */
    record Chunk(long from, long to, long begin, long[] sendCounts, long[] recvCounts) {

        /** Where blocks begin that lie one after the other. */
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
    private final long maxElements; // elements of a block in a chunk
    private final int size;
    private final int rank;
    private final Blocks send; // null where this rank sends nothing
    private final Blocks recv; // null where this rank receives nothing

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

    /** How many chunks this rank has, at least one. Of an exchange others may have more. */
    int count() {
        return count(Math.max(send == null ? 0 : send.longest(), recv == null ? 0 : recv.longest()));
    }

    /** How many chunks all ranks have, where each knows the counts of all. */
    int count(long[] counts) {
        return count(Arrays.stream(counts).max().orElse(0));
    }

    private int count(long longest) {
        return Math.toIntExact(Math.max(1, (longest + maxElements - 1) / maxElements));
    }

    /** A chunk in the slot that begins at an address; one beyond the last is empty. */
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

    /** What a chunk that begins at an element has of blocks of these counts. */
    long[] cut(long[] counts, long begin) {
        return Arrays.stream(counts)
                .map(count -> Math.max(0, Math.min(maxElements, count - begin)))
                .toArray();
    }

    /** Copies what is sent of a chunk to its slot. */
    void copyIn(Chunk chunk, StreamSteps steps) {
        long[] offsets = Chunk.offsets(chunk.sendCounts());
        for (int block = 0; block < offsets.length; block++) {
            long inSlot = chunk.from() + offsets[block] * elementBytes;
            steps.copy(inSlot, onDevice(send, block, chunk), chunk.sendCounts()[block] * elementBytes);
        }
    }

    /** Copies what is received of a chunk from its slot. */
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
