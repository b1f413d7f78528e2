package io.jccl;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The operations of a communicator. A {@link Communicator} issues them at once; a {@link Group} collects them.
 *
 * <p>Every rank of the communicator calls the same collectives in the same order, with the same type, reduction, root
 * and count. The exceptions (v-forms, point-to-point) say what may differ. {@code n} is the number of ranks.
 *
 * <p>All methods throw {@link IllegalArgumentException} if a buffer's type, count or memory does not fit the operation,
 * if a receive buffer is read-only, or if buffers overlap in part. They throw {@link IllegalStateException} if the
 * communicator is closed. Until the operation is done, do not read or write its receive buffers, and do not write its
 * send buffers.
 *
 * @param <R> the result of issuing an operation
 */
public interface Operations<R> {

    /** All-reduces a buffer in place: {@link #allReduce(DataBuffer, DataBuffer, ReduceOp)} with one buffer. */
    default R allReduce(DataBuffer buffer, ReduceOp op) {
        return allReduce(buffer, buffer, op);
    }

    /**
     * Reduces the send buffers of all ranks element by element. Every rank receives the whole result, with the same
     * bits.
     *
     * @param send this rank's elements
     * @param recv receives the result, as many elements as {@code send}; may be the same memory
     * @param op how elements are combined
     */
    R allReduce(DataBuffer send, DataBuffer recv, ReduceOp op);

    /** All-reduces a buffer in place, with a format between hosts. */
    default R allReduce(DataBuffer buffer, ReduceOp op, WireFormat wire) {
        return allReduce(buffer, buffer, op, wire);
    }

    /**
     * {@link #allReduce(DataBuffer, DataBuffer, ReduceOp)} with a format in which the elements travel between hosts,
     * instead of the communicator's format ({@link CommunicatorConfig.Builder#wireFormat}).
     *
     * @param send this rank's elements, float32 or float64 in host memory unless {@code wire} is {@link
     *     WireFormat#EXACT}
     * @param recv receives the result, as many elements as {@code send}; may be the same memory
     * @param op how elements are combined
     * @param wire the format; the same on all ranks, except for its seed
     */
    R allReduce(DataBuffer send, DataBuffer recv, ReduceOp op, WireFormat wire);

    /**
     * All-reduces several buffers in place, as one operation. Small buffers of the same type travel together.
     *
     * @param buffers at least one buffer; types may differ. All ranks pass the same types and counts in the same order.
     *     Either all buffers are host memory, or all are device memory
     * @param op how elements are combined
     */
    R allReduce(List<DataBuffer> buffers, ReduceOp op);

    /**
     * {@link #allReduce(List, ReduceOp)} with a format in which the elements travel between hosts.
     *
     * @param buffers at least one buffer, of float32 or float64 in host memory unless {@code wire} is {@link
     *     WireFormat#EXACT}
     * @param op how elements are combined
     * @param wire the format; the same on all ranks, except for its seed
     */
    R allReduce(List<DataBuffer> buffers, ReduceOp op, WireFormat wire);

    /**
     * {@link #allReduce(DataBuffer, DataBuffer, ReduceOp)} with a user-defined reduction.
     *
     * @param send this rank's elements, in host memory
     * @param recv receives the result, as many elements as {@code send}; may be the same memory
     * @param reduction the same on all ranks
     */
    R allReduce(DataBuffer send, DataBuffer recv, Reduction reduction);

    /** All-reduces a buffer in place with a user-defined reduction. */
    default R allReduce(DataBuffer buffer, Reduction reduction) {
        return allReduce(buffer, buffer, reduction);
    }

    /** Reduces buffers in place: at the root the buffer is overwritten with the result. */
    default R reduce(DataBuffer buffer, ReduceOp op, int root) {
        return reduce(buffer, buffer, op, root);
    }

    /**
     * Reduces the send buffers of all ranks element by element at the root.
     *
     * @param send this rank's elements
     * @param recv receives the result at the root, as many elements as {@code send}; may be the same memory. Ignored at
     *     other ranks, where it may be null
     * @param op how elements are combined
     * @param root the rank that receives the result
     */
    R reduce(DataBuffer send, @Nullable DataBuffer recv, ReduceOp op, int root);

    /**
     * {@link #reduce(DataBuffer, DataBuffer, ReduceOp, int)} with a user-defined reduction.
     *
     * @param send this rank's elements, in host memory
     * @param recv receives the result at the root; may be the same memory. Ignored at other ranks, where it may be null
     * @param reduction the same on all ranks
     * @param root the rank that receives the result
     */
    R reduce(DataBuffer send, @Nullable DataBuffer recv, Reduction reduction, int root);

    /** Broadcasts a buffer in place: it is read at the root and written at the other ranks. */
    default R broadcast(DataBuffer buffer, int root) {
        return broadcast(buffer, buffer, root);
    }

    /**
     * Copies the root's elements to every rank.
     *
     * @param send the elements at the root. Ignored at other ranks, where it may be null
     * @param recv receives the elements at every rank, including the root; may be the same memory as {@code send}
     * @param root the rank whose elements are sent
     */
    R broadcast(@Nullable DataBuffer send, DataBuffer recv, int root);

    /** Broadcasts a buffer in place, with a format between hosts. The root's elements are rounded, too. */
    default R broadcast(DataBuffer buffer, int root, WireFormat wire) {
        return broadcast(buffer, buffer, root, wire);
    }

    /**
     * {@link #broadcast(DataBuffer, DataBuffer, int)} with a format in which the elements travel between hosts.
     *
     * @param send the elements at the root. Ignored at other ranks, where it may be null
     * @param recv receives the rounded elements at every rank, including the root
     * @param root the rank whose elements are sent
     * @param wire the format; the same on all ranks, except for its seed
     */
    R broadcast(@Nullable DataBuffer send, DataBuffer recv, int root, WireFormat wire);

    /**
     * Collects the send buffers of all ranks at every rank, in rank order.
     *
     * @param send this rank's {@code c} elements; may be block {@code rank} of {@code recv}
     * @param recv receives {@code n * c} elements
     */
    R allGather(DataBuffer send, DataBuffer recv);

    /**
     * {@link #allGather(DataBuffer, DataBuffer)} with a format in which the elements travel between hosts.
     *
     * @param send this rank's {@code c} elements; may be block {@code rank} of {@code recv}
     * @param recv receives {@code n * c} elements, this rank's own rounded like the others
     * @param wire the format; the same on all ranks, except for its seed
     */
    R allGather(DataBuffer send, DataBuffer recv, WireFormat wire);

    /**
     * Collects elements of all ranks at every rank, in rank order and without gaps. Each rank can send a different
     * number.
     *
     * @param send this rank's {@code counts[rank]} elements; may be its block of {@code recv}
     * @param recv receives the elements of all ranks, the sum of all counts
     * @param counts the number of elements that each rank sends; the same on all ranks; copied
     */
    R allGatherV(DataBuffer send, DataBuffer recv, long[] counts);

    /** {@link #allGatherV(DataBuffer, DataBuffer, long[])} with a format in which the elements travel between hosts. */
    R allGatherV(DataBuffer send, DataBuffer recv, long[] counts, WireFormat wire);

    /**
     * Reduce-scatters a buffer in place: {@link #reduceScatter(DataBuffer, DataBuffer, ReduceOp)} whose receive buffer is
     * block {@code rank} of the send buffer. The other blocks stay as they are. (With MPI_IN_PLACE,
     * MPI_Reduce_scatter_block stores the result in the first block.)
     *
     * @param buffer {@code n * c} elements
     * @param op how elements are combined
     */
    R reduceScatter(DataBuffer buffer, ReduceOp op);

    /**
     * Reduces the send buffers of all ranks element by element and gives every rank its block of the result.
     *
     * @param send {@code n * c} elements
     * @param recv receives block {@code rank} of the result, {@code c} elements; may be that block of {@code send}
     * @param op how elements are combined
     */
    R reduceScatter(DataBuffer send, DataBuffer recv, ReduceOp op);

    /**
     * {@link #reduceScatter(DataBuffer, DataBuffer, ReduceOp)} with a format in which the elements travel between hosts.
     *
     * @param send {@code n * c} elements
     * @param recv receives block {@code rank} of the result, {@code c} elements; may be that block of {@code send}
     * @param op how elements are combined
     * @param wire the format; the same on all ranks, except for its seed
     */
    R reduceScatter(DataBuffer send, DataBuffer recv, ReduceOp op, WireFormat wire);

    /**
     * Reduces the send buffers of all ranks and gives every rank its block of the result. The blocks can differ in
     * size.
     *
     * @param send as many elements as the sum of all counts
     * @param recv receives this rank's {@code counts[rank]} elements; may be its block of {@code send}
     * @param counts the number of elements that each rank receives; the same on all ranks; copied
     * @param op how elements are combined
     */
    R reduceScatterV(DataBuffer send, DataBuffer recv, long[] counts, ReduceOp op);

    /**
     * {@link #reduceScatterV(DataBuffer, DataBuffer, long[], ReduceOp)} with a format in which the elements travel
     * between hosts.
     */
    R reduceScatterV(DataBuffer send, DataBuffer recv, long[] counts, ReduceOp op, WireFormat wire);

    /**
     * {@link #reduceScatter(DataBuffer, DataBuffer, ReduceOp)} with a user-defined reduction.
     *
     * @param send {@code n * c} elements, in host memory
     * @param recv receives block {@code rank} of the result, {@code c} elements; may be that block of {@code send}
     * @param reduction the same on all ranks
     */
    R reduceScatter(DataBuffer send, DataBuffer recv, Reduction reduction);

    /**
     * {@link #reduceScatterV(DataBuffer, DataBuffer, long[], ReduceOp)} with a user-defined reduction.
     *
     * @param send as many elements as the sum of all counts, in host memory
     * @param recv receives this rank's {@code counts[rank]} elements; may be its block of {@code send}
     * @param counts the number of elements that each rank receives; the same on all ranks; copied
     * @param reduction the same on all ranks
     */
    R reduceScatterV(DataBuffer send, DataBuffer recv, long[] counts, Reduction reduction);

    /** Scans a buffer in place: {@link #scan(DataBuffer, DataBuffer, ReduceOp)} with one buffer. */
    default R scan(DataBuffer buffer, ReduceOp op) {
        return scan(buffer, buffer, op);
    }

    /**
     * Reduces the send buffers of this rank and all lower ranks element by element (MPI_Scan): rank 0 receives its own
     * elements, and the last rank the reduction of all.
     *
     * <p>Elements are combined in the order of ranks, and ties of floats follow {@link ReduceOp}. Where sums of floats
     * are rounded depends only on the rank, the number of ranks and the number of elements. So another run gets the same
     * bits, but the last rank's need not be those of an {@link #allReduce all-reduce}.
     *
     * @param send this rank's elements, in host memory, or in device memory with host staging
     * @param recv receives the result, as many elements as {@code send}; may be the same memory
     * @param op how elements are combined; not {@link ReduceOp#AVG}, because each rank would divide by another number
     */
    R scan(DataBuffer send, DataBuffer recv, ReduceOp op);

    /** Scans a buffer in place: {@link #exscan(DataBuffer, DataBuffer, ReduceOp)} with one buffer. */
    default R exscan(DataBuffer buffer, ReduceOp op) {
        return exscan(buffer, buffer, op);
    }

    /**
     * Reduces the send buffers of all lower ranks element by element (MPI_Exscan). Rank 0 receives nothing: its receive
     * buffer stays as it is, also in place. For the rest, see {@link #scan(DataBuffer, DataBuffer, ReduceOp)}.
     *
     * @param send this rank's elements, in host memory, or in device memory with host staging
     * @param recv receives the result, as many elements as {@code send}; may be the same memory
     * @param op how elements are combined; not {@link ReduceOp#AVG}
     */
    R exscan(DataBuffer send, DataBuffer recv, ReduceOp op);

    /**
     * Sends block {@code i} of {@code send} to rank {@code i}, and receives the block of rank {@code i} as block {@code
     * i} of {@code recv}.
     *
     * @param send {@code n * c} elements
     * @param recv receives {@code n * c} elements; must not overlap {@code send}
     */
    R allToAll(DataBuffer send, DataBuffer recv);

    /**
     * Sends a block of any size to each rank. Every rank must send each peer as many elements as that peer expects from
     * it; apart from that, counts may differ from rank to rank.
     *
     * @param send contains the blocks to send
     * @param sendCounts the number of elements for each rank; copied
     * @param sendOffsets the offset of each rank's block in {@code send}, in elements; copied
     * @param recv receives the blocks; must not overlap {@code send}
     * @param recvCounts the number of elements from each rank; copied
     * @param recvOffsets the offset of each rank's block in {@code recv}, in elements; blocks must not overlap; copied
     */
    R allToAllV(
            DataBuffer send,
            long[] sendCounts,
            long[] sendOffsets,
            DataBuffer recv,
            long[] recvCounts,
            long[] recvOffsets);

    /**
     * {@link #allToAllV(DataBuffer, long[], long[], DataBuffer, long[], long[])} with blocks in rank order and without
     * gaps.
     *
     * @param send contains the blocks to send
     * @param sendCounts the number of elements for each rank; copied
     * @param recv receives the blocks; must not overlap {@code send}
     * @param recvCounts the number of elements from each rank; copied
     */
    default R allToAllV(DataBuffer send, long[] sendCounts, DataBuffer recv, long[] recvCounts) {
        return allToAllV(send, sendCounts, offsets(sendCounts), recv, recvCounts, offsets(recvCounts));
    }

    /**
     * Returns the offsets of consecutive blocks with these sizes. Checks nothing: the operation itself refuses null and
     * wrong sizes.
     */
    private static long[] offsets(long[] counts) {
        long[] offsets = new long[counts == null ? 0 : counts.length];
        for (int i = 1; i < offsets.length; i++) {
            offsets[i] = offsets[i - 1] + counts[i - 1];
        }
        return offsets;
    }

    /**
     * Collects the send buffers of all ranks at the root, in rank order.
     *
     * @param send this rank's {@code c} elements; at the root it may be the root's block of {@code recv}
     * @param recv receives {@code n * c} elements at the root. Ignored at other ranks, where it may be null
     * @param root the rank that receives
     */
    R gather(DataBuffer send, @Nullable DataBuffer recv, int root);

    /**
     * Collects elements of all ranks at the root, in rank order and without gaps. Each rank can send a different
     * number.
     *
     * @param send this rank's {@code counts[rank]} elements; at the root it may be its block of {@code recv}
     * @param recv receives the elements of all ranks at the root, the sum of all counts. Ignored at other ranks, where
     *     it may be null
     * @param counts the number of elements that each rank sends; the same on all ranks; copied
     * @param root the rank that receives
     */
    R gatherV(DataBuffer send, @Nullable DataBuffer recv, long[] counts, int root);

    /**
     * Collects elements of all ranks at the root, at any places of its buffer. Only the root knows the counts
     * (MPI_Gatherv). The other ranks send to the root and the root receives from them, in the order of sends and
     * receives. If all ranks know the counts, {@link #gatherV(DataBuffer, DataBuffer, long[], int)} can take less time.
     *
     * @param send this rank's elements, as many as the root expects; at the root it may be its block of {@code recv}
     * @param recv contains the blocks at the root; elements between blocks stay as they are. Ignored at other ranks,
     *     where it may be null
     * @param counts the number of elements that each rank sends. Ignored at other ranks than the root, where it may be
     *     null
     * @param offsets the offset of each rank's block in {@code recv}, in elements; blocks must not overlap. Ignored at
     *     other ranks than the root, where it may be null
     * @param root the rank that receives
     */
    R gatherV(
            DataBuffer send, @Nullable DataBuffer recv, long @Nullable [] counts, long @Nullable [] offsets, int root);

    /**
     * Sends every rank its block of the root's buffer.
     *
     * @param send {@code n * c} elements at the root. Ignored at other ranks, where it may be null
     * @param recv receives {@code c} elements; at the root it may be the root's block of {@code send}
     * @param root the rank that sends
     */
    R scatter(@Nullable DataBuffer send, DataBuffer recv, int root);

    /**
     * Sends every rank its block of the root's buffer. The blocks can differ in size.
     *
     * @param send the blocks in rank order at the root, as many elements as the sum of all counts. Ignored at other
     *     ranks, where it may be null
     * @param counts the number of elements that each rank receives; the same on all ranks; copied
     * @param recv receives this rank's {@code counts[rank]} elements; at the root it may be its block of {@code send}
     * @param root the rank that sends
     */
    R scatterV(@Nullable DataBuffer send, long[] counts, DataBuffer recv, int root);

    /**
     * Sends every rank a block at any place of the root's buffer. Only the root knows the counts (MPI_Scatterv). The root
     * sends to the other ranks and these receive, in the order of sends and receives. If all ranks know the counts,
     * {@link #scatterV(DataBuffer, long[], DataBuffer, int)} can take less time.
     *
     * @param send contains the blocks at the root. Ignored at other ranks, where it may be null
     * @param counts the number of elements that each rank receives. Ignored at other ranks than the root, where it may be
     *     null
     * @param offsets the offset of each rank's block in {@code send}, in elements; blocks may overlap. Ignored at other
     *     ranks than the root, where it may be null
     * @param recv receives this rank's elements, as many as the root sends; at the root it may be its block of {@code
     *     send}
     * @param root the rank that sends
     */
    R scatterV(
            @Nullable DataBuffer send, long @Nullable [] counts, long @Nullable [] offsets, DataBuffer recv, int root);

    /**
     * Sends elements to one rank, which must receive the same number with {@link #recv}. For a transfer in each
     * direction use {@link #sendReceive}; for several transfers use a group. Separate calls can wait for each other for
     * ever.
     *
     * @param peer the receiving rank; this rank only within a group
     * @param buffer the elements
     */
    R send(int peer, DataBuffer buffer);

    /**
     * Receives elements that one rank sends with {@link #send}.
     *
     * @param peer the sending rank; this rank only within a group
     * @param buffer receives the elements
     */
    R recv(int peer, DataBuffer buffer);

    /**
     * Sends elements to one rank and at the same time receives elements from the same or another rank (MPI_Sendrecv).
     * The peers may also use {@link #send} and {@link #recv}.
     *
     * @param send the elements to send
     * @param to the rank that receives them; this rank only if {@code from} is this rank too
     * @param recv receives elements; must not overlap {@code send}; type and count may differ
     * @param from the rank whose elements are received
     */
    R sendReceive(DataBuffer send, int to, DataBuffer recv, int from);

    /**
     * Waits until every rank has entered the barrier. On a GPU the barrier orders only operations. Stores by the
     * application's kernels to memory outside of the buffers of operations need not be visible to kernels of another
     * rank afterwards.
     */
    R barrier();
}
