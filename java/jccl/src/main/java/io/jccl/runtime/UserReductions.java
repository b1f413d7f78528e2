package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.HostBuffer;
import io.jccl.Reduction;
import io.jccl.nativelib.Code;
import io.jccl.nativelib.NativeEngine;
import io.jccl.nativelib.NativeMemory;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.LongConsumer;

/**
 * Executes collectives with user-defined reductions. Each rank owns one shard of the elements. It receives this shard
 * from all ranks, folds the elements, and sends the result to the ranks that receive it. Shards are cut into chunks, so
 * that the other ranks send the next chunk while this rank folds:
 *
 * <pre>
 *     chunk 0   exchange │ fold │ exchange of results │
 *     chunk 1                                         │ exchange │ fold │ ...
 * </pre>
 */
final class UserReductions {

    private static final long CHUNK_BYTES = 256 << 10; // a chunk stays in the second-level cache while it is folded

    private final OperationQueue queue;
    private final NativeEngine engine;
    private final int rank;
    private final int size;
    private HostBuffer slots; // one chunk of each rank; null until the first operation

    UserReductions(OperationQueue queue, int rank, int size) {
        this.queue = queue;
        this.engine = queue.engine();
        this.rank = rank;
        this.size = size;
    }

    /**
     * Executes a collective.
     *
     * @param from address of the elements to reduce
     * @param to address of the receive buffer; 0 if this rank receives nothing
     * @return the same as {@link Backend#execute}
     */
    long execute(ReductionCall call, long choice, long from, long to, long timeoutNanos) {
        return new Run(call, choice, from, to, System.nanoTime() + timeoutNanos).execute();
    }

    private static long identity(Reduction reduction) {
        long mixed = reduction.isCommutative() ? 1 : 2;
        for (byte each : reduction.name().getBytes(StandardCharsets.UTF_8)) {
            mixed = (mixed ^ each) * 0x100000001b3L; // FNV-1a
        }
        return mixed * 31 + reduction.unit();
    }

    /** The execution of one collective. */
    private final class Run {

        private final ReductionCall call;
        private final Reduction reduction;
        private final long choice;
        private final long from;
        private final long to;
        private final long deadline;
        private final long elementBytes;
        private final long[] shards;
        private final long[] offsets;
        private final long longest; // elements of the longest shard
        private final long chunk; // elements of a chunk
        private final long identity; // hash of the reduction, which must be the same on all ranks

        Run(ReductionCall call, long choice, long from, long to, long deadline) {
            this.call = call;
            this.reduction = call.reduction();
            this.choice = choice;
            this.from = from;
            this.to = to;
            this.deadline = deadline;
            this.identity = identity(reduction);
            this.elementBytes = call.type().bytes();
            this.shards = call.shards(size);
            this.offsets = StagedChunks.Chunk.offsets(shards);
            long unit = reduction.unit();
            this.longest = Arrays.stream(shards).max().orElse(0);
            this.chunk = Math.max(unit, Math.min(longest, Math.max(1, CHUNK_BYTES / elementBytes / unit) * unit));
        }

        long execute() {
            long slotBytes = chunk * elementBytes;
            if (slots == null || slots.bytes() < slotBytes * size) {
                close();
                slots = HostBuffer.allocate(slotBytes * size);
            }
            long chunks = Math.max(1, (longest + chunk - 1) / chunk);
            long outcome = Code.OK;
            for (long index = 0; index < chunks && outcome >= Code.OK; index++) {
                outcome = exchange(index);
                if (outcome >= Code.OK) {
                    fold(index);
                    outcome = call.collective() == Collective.REDUCE_SCATTER ? outcome : exchangeResults(index);
                }
            }
            return outcome;
        }

        /** Returns the number of elements of a chunk of a rank's shard; 0 after the shard's end. */
        private long elements(int owner, long index) {
            return Math.max(0, Math.min(chunk, shards[owner] - index * chunk));
        }

        /** Sends each other rank a chunk of that rank's shard, and receives a chunk of this rank's shard from each. */
        private long exchange(long index) {
            long[] rows = new long[4 * size];
            for (int peer = 0; peer < size; peer++) {
                if (peer != rank) {
                    rows[peer] = elements(peer, index);
                    rows[size + peer] = offsets[peer] + index * chunk;
                    rows[2 * size + peer] = elements(rank, index);
                    rows[3 * size + peer] = peer * chunk;
                }
            }
            return run(from, slots.address(), rows, 2 * index);
        }

        /**
         * Sends the result of this rank's chunk to the ranks that receive it, and receives the results of the others.
         */
        private long exchangeResults(long index) {
            boolean toAll = call.collective() == Collective.ALL_REDUCE;
            boolean receives = toAll || rank == call.root();
            long[] rows = new long[4 * size];
            for (int peer = 0; peer < size; peer++) {
                if (peer != rank) {
                    rows[peer] = toAll || peer == call.root() ? elements(rank, index) : 0;
                    rows[size + peer] = receives ? offsets[rank] + index * chunk : rank * chunk;
                    rows[2 * size + peer] = receives ? elements(peer, index) : 0;
                    rows[3 * size + peer] = offsets[peer] + index * chunk;
                }
            }
            return run(receives ? to : slots.address(), to, rows, 2 * index + 1);
        }

        private long run(long send, long recv, long[] rows, long step) {
            long whole = Math.max(1, call.count());
            long begin = identity ^ step * 0x9e3779b97f4a7c15L;
            return engine.runVPart(
                    call.signature(), choice, send, recv, rows, call.root(), whole, begin, 0, Deadlines.left(deadline));
        }

        /** Returns the address for the result of a chunk. */
        private long target(long index) {
            if (to == 0) {
                return slots.address() + rank * chunk * elementBytes;
            }
            long begin = call.collective() == Collective.REDUCE_SCATTER ? 0 : offsets[rank];
            return to + (begin + index * chunk) * elementBytes;
        }

        private void fold(long index) {
            long bytes = elements(rank, index) * elementBytes;
            if (bytes == 0) {
                return;
            }
            int first = reduction.isCommutative() ? rank : 0;
            long target = target(index);
            long accumulator = first == rank ? target : place(first, index);
            if (first == rank && place(rank, index) != target) {
                NativeMemory.copy(place(rank, index), target, bytes);
            }
            LongConsumer folding = next -> LocalReduction.fold(reduction, accumulator, next, bytes);
            for (int i = 1; i < size; i++) {
                queue.runUserCode(folding, place((first + i) % size, index));
            }
            if (accumulator != target) {
                NativeMemory.copy(accumulator, target, bytes);
            }
        }

        /** Returns the address of the elements that a rank has contributed to a chunk that this rank folds. */
        private long place(int peer, long index) {
            return peer == rank
                    ? from + (offsets[rank] + index * chunk) * elementBytes
                    : slots.address() + peer * chunk * elementBytes;
        }
    }

    /** Returns the current size of the slots in bytes. */
    long bytes() {
        HostBuffer held = slots;
        return held == null ? 0 : held.bytes();
    }

    /** Frees the slots. No operation may use them any more. */
    void close() {
        if (slots != null) {
            slots.close();
            slots = null;
        }
    }
}
