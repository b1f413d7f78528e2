package io.jccl;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The operations, as a {@link Communicator} issues them at once and a {@link Group} collects them.
 *
 * <p>Every rank of the communicator calls the same collectives in the same order, with the same type, reduction, root and
 * count; the exceptions (v-forms, point-to-point) say what may differ. {@code n} is the number of ranks.
 *
 * <p>All methods throw {@link IllegalArgumentException} if a buffer's type, count or memory does not fit the operation, if
 * a receive buffer is read-only, or if buffers overlap in part; and {@link IllegalStateException} if the communicator is
 * closed. Buffers must not be touched, and send buffers not be written, until the operation is done.
 *
 * @param <R> what issuing returns
 */
public interface Operations<R> {

    /** All-reduce in place: {@link #allReduce(DataBuffer, DataBuffer, ReduceOp)} with one buffer. */
    default R allReduce(DataBuffer buffer, ReduceOp op) {
        return allReduce(buffer, buffer, op);
    }

    /**
     * Reduces the send buffers of all ranks element by element; every rank receives the whole result, bit for bit the
     * same.
     *
     * @param send this rank's elements
     * @param recv the result, as many elements as {@code send}; may be the same memory
     * @param op how elements are combined
     */
    R allReduce(DataBuffer send, DataBuffer recv, ReduceOp op);

    /**
     * All-reduces several buffers in place, as one operation: small ones of the same type travel together.
     *
     * @param buffers at least one, of any types; the same types and counts in the same order on all ranks; all in memory of the
     *     host, or all of the device
     * @param op how elements are combined
     */
    R allReduce(List<DataBuffer> buffers, ReduceOp op);

    /**
     * {@link #allReduce(DataBuffer, DataBuffer, ReduceOp)} with a user-defined reduction.
     *
     * @param send this rank's elements, in memory of the host
     * @param recv the result, as many elements as {@code send}; may be the same memory
     * @param reduction the same on all ranks
     */
    R allReduce(DataBuffer send, DataBuffer recv, Reduction reduction);

    /** All-reduce in place with a user-defined reduction. */
    default R allReduce(DataBuffer buffer, Reduction reduction) {
        return allReduce(buffer, buffer, reduction);
    }

    /** Reduce in place: at the root the buffer is overwritten with the result. */
    default R reduce(DataBuffer buffer, ReduceOp op, int root) {
        return reduce(buffer, buffer, op, root);
    }

    /**
     * Reduces the send buffers of all ranks element by element at the root.
     *
     * @param send this rank's elements
     * @param recv the result at the root, as many elements as {@code send}, may be the same memory; not used and
     *     possibly null at other ranks
     * @param op how elements are combined
     * @param root the rank that receives the result
     */
    R reduce(DataBuffer send, @Nullable DataBuffer recv, ReduceOp op, int root);

    /**
     * {@link #reduce(DataBuffer, DataBuffer, ReduceOp, int)} with a user-defined reduction.
     *
     * @param send this rank's elements, in memory of the host
     * @param recv the result at the root, may be the same memory; not used and possibly null at other ranks
     * @param reduction the same on all ranks
     * @param root the rank that receives the result
     */
    R reduce(DataBuffer send, @Nullable DataBuffer recv, Reduction reduction, int root);

    /** Broadcast in place: the buffer is read at the root and written at the other ranks. */
    default R broadcast(DataBuffer buffer, int root) {
        return broadcast(buffer, buffer, root);
    }

    /**
     * Copies the root's elements to every rank.
     *
     * @param send the elements at the root; not used and possibly null at other ranks
     * @param recv receives the elements at every rank, the root included; may be the same memory as {@code send}
     * @param root the rank whose elements are sent
     */
    R broadcast(@Nullable DataBuffer send, DataBuffer recv, int root);

    /**
     * Collects the send buffers of all ranks at every rank, in rank order.
     *
     * @param send this rank's {@code c} elements; may be the {@code rank}-th block of {@code recv}
     * @param recv receives {@code n * c} elements
     */
    R allGather(DataBuffer send, DataBuffer recv);

    /**
     * Collects a different number of elements of each rank at every rank, in rank order and without gaps.
     *
     * @param send this rank's {@code counts[rank]} elements; may be its block of {@code recv}
     * @param recv receives as many elements as all counts together
     * @param counts how many elements each rank sends; the same on all ranks; copied
     */
    R allGatherV(DataBuffer send, DataBuffer recv, long[] counts);

    /**
     * Reduces the send buffers of all ranks element by element and gives every rank its block of the result.
     *
     * @param send {@code n * c} elements
     * @param recv receives the {@code rank}-th block of {@code c} elements; may be that block of {@code send}
     * @param op how elements are combined
     */
    R reduceScatter(DataBuffer send, DataBuffer recv, ReduceOp op);

    /**
     * Reduces the send buffers of all ranks and gives every rank a block of its own size.
     *
     * @param send as many elements as all counts together
     * @param recv receives this rank's {@code counts[rank]} elements; may be its block of {@code send}
     * @param counts how many elements each rank receives; the same on all ranks; copied
     * @param op how elements are combined
     */
    R reduceScatterV(DataBuffer send, DataBuffer recv, long[] counts, ReduceOp op);

    /**
     * {@link #reduceScatter(DataBuffer, DataBuffer, ReduceOp)} with a user-defined reduction.
     *
     * @param send {@code n * c} elements, in memory of the host
     * @param recv receives the {@code rank}-th block of {@code c} elements; may be that block of {@code send}
     * @param reduction the same on all ranks
     */
    R reduceScatter(DataBuffer send, DataBuffer recv, Reduction reduction);

    /**
     * {@link #reduceScatterV(DataBuffer, DataBuffer, long[], ReduceOp)} with a user-defined reduction.
     *
     * @param send as many elements as all counts together, in memory of the host
     * @param recv receives this rank's {@code counts[rank]} elements; may be its block of {@code send}
     * @param counts how many elements each rank receives; the same on all ranks; copied
     * @param reduction the same on all ranks
     */
    R reduceScatterV(DataBuffer send, DataBuffer recv, long[] counts, Reduction reduction);

    /**
     * Sends the {@code i}-th block to rank {@code i} and receives its block for this rank at the {@code i}-th place.
     *
     * @param send {@code n * c} elements
     * @param recv receives {@code n * c} elements; must not overlap {@code send}
     */
    R allToAll(DataBuffer send, DataBuffer recv);

    /**
     * Sends a block of any size to each rank. What a rank sends to a peer must be what that peer expects of it; other
     * than that the counts may differ from rank to rank.
     *
     * @param send holds the blocks to send
     * @param sendCounts how many elements go to each rank; copied
     * @param sendOffsets where each rank's block begins in {@code send}, in elements; copied
     * @param recv receives the blocks; must not overlap {@code send}
     * @param recvCounts how many elements come from each rank; copied
     * @param recvOffsets where each rank's block goes in {@code recv}, in elements; blocks must not overlap; copied
     */
    R allToAllV(
            DataBuffer send,
            long[] sendCounts,
            long[] sendOffsets,
            DataBuffer recv,
            long[] recvCounts,
            long[] recvOffsets);

    /**
     * {@link #allToAllV(DataBuffer, long[], long[], DataBuffer, long[], long[])} of blocks without gaps, in rank order.
     *
     * @param send holds the blocks to send
     * @param sendCounts how many elements go to each rank; copied
     * @param recv receives the blocks; must not overlap {@code send}
     * @param recvCounts how many elements come from each rank; copied
     */
    default R allToAllV(DataBuffer send, long[] sendCounts, DataBuffer recv, long[] recvCounts) {
        return allToAllV(send, sendCounts, offsets(sendCounts), recv, recvCounts, offsets(recvCounts));
    }

    /** Where blocks of these sizes begin. Null and wrong sizes are left to the operation to refuse. */
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
     * @param recv receives {@code n * c} elements at the root; not used and possibly null at other ranks
     * @param root the rank that receives
     */
    R gather(DataBuffer send, @Nullable DataBuffer recv, int root);

    /**
     * Collects a different number of elements of each rank at the root, in rank order and without gaps.
     *
     * @param send this rank's {@code counts[rank]} elements; at the root it may be its block of {@code recv}
     * @param recv receives as many elements as all counts together at the root; not used and possibly null at other ranks
     * @param counts how many elements each rank sends; the same on all ranks; copied
     * @param root the rank that receives
     */
    R gatherV(DataBuffer send, @Nullable DataBuffer recv, long[] counts, int root);

    /**
     * Sends every rank its block of the root's buffer.
     *
     * @param send {@code n * c} elements at the root; not used and possibly null at other ranks
     * @param recv receives {@code c} elements; at the root it may be the root's block of {@code send}
     * @param root the rank that sends
     */
    R scatter(@Nullable DataBuffer send, DataBuffer recv, int root);

    /**
     * Sends every rank a block of its own size of the root's buffer.
     *
     * @param send as many elements as all counts together at the root, in rank order; not used and possibly null at other ranks
     * @param counts how many elements each rank receives; the same on all ranks; copied
     * @param recv receives this rank's {@code counts[rank]} elements; at the root it may be its block of {@code send}
     * @param root the rank that sends
     */
    R scatterV(@Nullable DataBuffer send, long[] counts, DataBuffer recv, int root);

    /**
     * Sends elements to one rank, which must receive as many with {@link #recv}. For a transfer in each direction use
     * {@link #sendReceive}, for several at once a group: one after the other they may wait for each other for ever.
     *
     * @param peer the receiving rank, not this one unless in a group
     * @param buffer the elements
     */
    R send(int peer, DataBuffer buffer);

    /**
     * Receives elements that one rank sends with {@link #send}.
     *
     * @param peer the sending rank, not this one unless in a group
     * @param buffer receives the elements
     */
    R recv(int peer, DataBuffer buffer);

    /**
     * Sends elements to one rank and receives others from the same or another rank, at the same time (MPI_Sendrecv). The
     * other sides may be a {@link #send} and a {@link #recv}, too.
     *
     * @param send the elements to send
     * @param to the rank that receives them; this one if {@code from} is
     * @param recv receives elements; must not overlap {@code send}; type and count may differ
     * @param from the rank that sends them
     */
    R sendReceive(DataBuffer send, int to, DataBuffer recv, int from);

    /**
     * Is done when every rank has entered it. On a GPU it orders operations only: what kernels of the application have stored
     * elsewhere than in buffers of operations is not thereby visible to kernels of another rank.
     */
    R barrier();
}
