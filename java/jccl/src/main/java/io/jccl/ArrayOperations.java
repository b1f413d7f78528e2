package io.jccl;

/**
 * Operations over arrays of the Java heap. Each method calls the method of {@link Operations} with the same name, with
 * {@link DataBuffer#of(float[])} or its overload for the type, and follows the rules of that method. The result is in
 * the arrays when the operation is done. For large arrays that are used again and again prefer a {@link HostBuffer},
 * which needs no copies.
 *
 * @param <R> the result of issuing an operation
 */
public interface ArrayOperations<R> extends Operations<R> {

    /** All-reduces an array in place. */
    default R allReduce(float[] array, ReduceOp op) {
        return allReduce(DataBuffer.of(array), op);
    }

    /** All-reduces an array in place, with a format in which the elements travel between hosts. */
    default R allReduce(float[] array, ReduceOp op, WireFormat wire) {
        return allReduce(DataBuffer.of(array), op, wire);
    }

    /** Reduces arrays in place: at the root the array is overwritten with the result. */
    default R reduce(float[] array, ReduceOp op, int root) {
        return reduce(DataBuffer.of(array), op, root);
    }

    /** Broadcasts an array in place: it is read at the root and written at the other ranks. */
    default R broadcast(float[] array, int root) {
        return broadcast(DataBuffer.of(array), root);
    }

    /** All-gathers arrays: {@code recv} is as long as the arrays {@code send} of all ranks together. */
    default R allGather(float[] send, float[] recv) {
        return allGather(DataBuffer.of(send), DataBuffer.of(recv));
    }

    /** Reduce-scatters arrays: {@code send} is as long as the arrays {@code recv} of all ranks together. */
    default R reduceScatter(float[] send, float[] recv, ReduceOp op) {
        return reduceScatter(DataBuffer.of(send), DataBuffer.of(recv), op);
    }

    /** All-to-all: sends each rank its block of {@code send}, and receives one block from each rank. */
    default R allToAll(float[] send, float[] recv) {
        return allToAll(DataBuffer.of(send), DataBuffer.of(recv));
    }

    /** Sends an array to a rank, which must receive as many elements. */
    default R send(int peer, float[] array) {
        return send(peer, DataBuffer.of(array));
    }

    /** Receives an array that a rank sends. */
    default R recv(int peer, float[] array) {
        return recv(peer, DataBuffer.of(array));
    }

    /** All-reduces an array in place. */
    default R allReduce(double[] array, ReduceOp op) {
        return allReduce(DataBuffer.of(array), op);
    }

    /** All-reduces an array in place, with a format in which the elements travel between hosts. */
    default R allReduce(double[] array, ReduceOp op, WireFormat wire) {
        return allReduce(DataBuffer.of(array), op, wire);
    }

    /** Reduces arrays in place: at the root the array is overwritten with the result. */
    default R reduce(double[] array, ReduceOp op, int root) {
        return reduce(DataBuffer.of(array), op, root);
    }

    /** Broadcasts an array in place: it is read at the root and written at the other ranks. */
    default R broadcast(double[] array, int root) {
        return broadcast(DataBuffer.of(array), root);
    }

    /** All-gathers arrays: {@code recv} is as long as the arrays {@code send} of all ranks together. */
    default R allGather(double[] send, double[] recv) {
        return allGather(DataBuffer.of(send), DataBuffer.of(recv));
    }

    /** Reduce-scatters arrays: {@code send} is as long as the arrays {@code recv} of all ranks together. */
    default R reduceScatter(double[] send, double[] recv, ReduceOp op) {
        return reduceScatter(DataBuffer.of(send), DataBuffer.of(recv), op);
    }

    /** All-to-all: sends each rank its block of {@code send}, and receives one block from each rank. */
    default R allToAll(double[] send, double[] recv) {
        return allToAll(DataBuffer.of(send), DataBuffer.of(recv));
    }

    /** Sends an array to a rank, which must receive as many elements. */
    default R send(int peer, double[] array) {
        return send(peer, DataBuffer.of(array));
    }

    /** Receives an array that a rank sends. */
    default R recv(int peer, double[] array) {
        return recv(peer, DataBuffer.of(array));
    }

    /** All-reduces an array in place. */
    default R allReduce(int[] array, ReduceOp op) {
        return allReduce(DataBuffer.of(array), op);
    }

    /** Reduces arrays in place: at the root the array is overwritten with the result. */
    default R reduce(int[] array, ReduceOp op, int root) {
        return reduce(DataBuffer.of(array), op, root);
    }

    /** Broadcasts an array in place: it is read at the root and written at the other ranks. */
    default R broadcast(int[] array, int root) {
        return broadcast(DataBuffer.of(array), root);
    }

    /** All-gathers arrays: {@code recv} is as long as the arrays {@code send} of all ranks together. */
    default R allGather(int[] send, int[] recv) {
        return allGather(DataBuffer.of(send), DataBuffer.of(recv));
    }

    /** Reduce-scatters arrays: {@code send} is as long as the arrays {@code recv} of all ranks together. */
    default R reduceScatter(int[] send, int[] recv, ReduceOp op) {
        return reduceScatter(DataBuffer.of(send), DataBuffer.of(recv), op);
    }

    /** All-to-all: sends each rank its block of {@code send}, and receives one block from each rank. */
    default R allToAll(int[] send, int[] recv) {
        return allToAll(DataBuffer.of(send), DataBuffer.of(recv));
    }

    /** Sends an array to a rank, which must receive as many elements. */
    default R send(int peer, int[] array) {
        return send(peer, DataBuffer.of(array));
    }

    /** Receives an array that a rank sends. */
    default R recv(int peer, int[] array) {
        return recv(peer, DataBuffer.of(array));
    }

    /** All-reduces an array in place. */
    default R allReduce(long[] array, ReduceOp op) {
        return allReduce(DataBuffer.of(array), op);
    }

    /** Reduces arrays in place: at the root the array is overwritten with the result. */
    default R reduce(long[] array, ReduceOp op, int root) {
        return reduce(DataBuffer.of(array), op, root);
    }

    /** Broadcasts an array in place: it is read at the root and written at the other ranks. */
    default R broadcast(long[] array, int root) {
        return broadcast(DataBuffer.of(array), root);
    }

    /** All-gathers arrays: {@code recv} is as long as the arrays {@code send} of all ranks together. */
    default R allGather(long[] send, long[] recv) {
        return allGather(DataBuffer.of(send), DataBuffer.of(recv));
    }

    /** Reduce-scatters arrays: {@code send} is as long as the arrays {@code recv} of all ranks together. */
    default R reduceScatter(long[] send, long[] recv, ReduceOp op) {
        return reduceScatter(DataBuffer.of(send), DataBuffer.of(recv), op);
    }

    /** All-to-all: sends each rank its block of {@code send}, and receives one block from each rank. */
    default R allToAll(long[] send, long[] recv) {
        return allToAll(DataBuffer.of(send), DataBuffer.of(recv));
    }

    /** Sends an array to a rank, which must receive as many elements. */
    default R send(int peer, long[] array) {
        return send(peer, DataBuffer.of(array));
    }

    /** Receives an array that a rank sends. */
    default R recv(int peer, long[] array) {
        return recv(peer, DataBuffer.of(array));
    }
}
