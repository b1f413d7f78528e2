package io.jccl.pytorch;

import io.jccl.Communicator;
import io.jccl.Operations;
import io.jccl.ReduceOp;
import io.jccl.Work;
import org.bytedeco.pytorch.Tensor;

/**
 * The operations of a communicator on tensors, as those of {@code torch.distributed}.
 *
 * <pre>{@code
 * Distributed distributed = Distributed.over(comm);
 * distributed.allReduce(loss, ReduceOp.AVG).await();
 * }</pre>
 *
 * <p>Every method issues the operation and returns its handle; {@link TensorWork#await()} waits. All ranks call the same
 * operations in the same order, with tensors of the same type and number of elements.
 *
 * <p>Contiguous tensors are used in place. Elements of other tensors, such as transposed or channels-last ones, are
 * copied in the order of their indices, so ranks may have different strides. Reductions accept Half, BFloat16, Float,
 * Double, Byte, Char, Int, Long, UInt32, UInt64 and 8-bit floats; operations that only move elements also accept Bool,
 * Short and UInt16. Tensors that require a gradient are accepted, but autograd does not record the operations.
 *
 * <p>Tensors on a GPU need a communicator with that GPU ({@code CommunicatorConfig.device}). The operation is ordered by
 * the current stream of the calling thread, so work that is put on that stream afterwards sees the results without {@link
 * TensorWork#await()}. Nothing is copied through the host.
 *
 * <p>All methods throw {@link IllegalArgumentException} before they touch anything if a tensor is undefined, sparse, of
 * another type, or on another device. One thread at a time may issue operations, as for the {@link Communicator}.
 */
public final class Distributed {

    private final Communicator comm;

    private Distributed(Communicator comm) {
        this.comm = comm;
    }

    /** Returns the operations of a communicator. */
    public static Distributed over(Communicator comm) {
        if (comm == null) {
            throw new IllegalArgumentException("comm=null: expected a communicator");
        }
        return new Distributed(comm);
    }

    /** Returns the communicator. */
    public Communicator communicator() {
        return comm;
    }

    /**
     * Reduces the tensors of all ranks element by element. Every rank's tensor receives the result, with the same bits
     * on all ranks.
     */
    public TensorWork allReduce(Tensor tensor, ReduceOp op) {
        Operand operand = Operand.combinedInto("tensor", tensor);
        return new TensorWork(on(tensor).allReduce(operand.buffer(), op), operand);
    }

    /** Copies the tensor of rank {@code root} to the tensors of all ranks. */
    public TensorWork broadcast(Tensor tensor, int root) {
        Operand operand = Operand.movedInto("tensor", tensor);
        return new TensorWork(on(tensor).broadcast(operand.buffer(), root), operand);
    }

    /**
     * Collects the tensors of all ranks on every rank ({@code all_gather_into_tensor}).
     *
     * @param input this rank's {@code c} elements
     * @param output receives {@code n * c} elements in rank order, for {@code n} ranks; of the type of {@code input}
     */
    public TensorWork allGather(Tensor input, Tensor output) {
        Operand send = Operand.moved("input", input);
        Operand recv = Operand.movedInto("output", output);
        requireSameType(input, output);
        return new TensorWork(on(input).allGather(send.buffer(), recv.buffer()), send, recv);
    }

    /**
     * Reduces the tensors of all ranks element by element, and gives every rank its block of the result ({@code
     * reduce_scatter_tensor}).
     *
     * @param input {@code n * c} elements, for {@code n} ranks
     * @param output receives block {@code rank} of the result, {@code c} elements; of the type of {@code input}
     */
    public TensorWork reduceScatter(Tensor input, Tensor output, ReduceOp op) {
        Operand send = Operand.combined("input", input);
        Operand recv = Operand.combinedInto("output", output);
        requireSameType(input, output);
        return new TensorWork(on(input).reduceScatter(send.buffer(), recv.buffer(), op), send, recv);
    }

    /**
     * Sends block {@code i} of {@code input} to rank {@code i}, and receives rank {@code i}'s block as block {@code i}
     * of {@code output} ({@code all_to_all_single}).
     *
     * @param input {@code n * c} elements, for {@code n} ranks
     * @param output receives {@code n * c} elements; of the type of {@code input}, in other memory
     */
    public TensorWork allToAll(Tensor input, Tensor output) {
        Operand send = Operand.moved("input", input);
        Operand recv = Operand.movedInto("output", output);
        requireSameType(input, output);
        return new TensorWork(on(input).allToAll(send.buffer(), recv.buffer()), send, recv);
    }

    /**
     * Sends a tensor to rank {@code peer}, which must call {@link #recv}. For a transfer in each direction use {@link
     * #sendReceive}, because two ranks that send first can wait for each other.
     */
    public TensorWork send(Tensor tensor, int peer) {
        Operand operand = Operand.moved("tensor", tensor);
        return new TensorWork(on(tensor).send(peer, operand.buffer()), operand);
    }

    /** Receives the tensor that rank {@code peer} sends. */
    public TensorWork recv(Tensor tensor, int peer) {
        Operand operand = Operand.movedInto("tensor", tensor);
        return new TensorWork(on(tensor).recv(peer, operand.buffer()), operand);
    }

    /** Sends a tensor to rank {@code to}, and at the same time receives one that rank {@code from} sends. */
    public TensorWork sendReceive(Tensor sent, int to, Tensor received, int from) {
        Operand send = Operand.moved("sent", sent);
        Operand recv = Operand.movedInto("received", received);
        return new TensorWork(on(sent).sendReceive(send.buffer(), to, recv.buffer(), from), send, recv);
    }

    /** Waits, in {@link TensorWork#await()}, until every rank has entered the barrier. */
    public TensorWork barrier() {
        return new TensorWork(comm.barrier());
    }

    private Operations<Work> on(Tensor tensor) {
        return GpuTensors.operations(comm, tensor);
    }

    private static void requireSameType(Tensor input, Tensor output) {
        if (input.scalar_type().intern() != output.scalar_type().intern()) {
            throw new IllegalArgumentException("output.scalar_type="
                    + output.scalar_type().intern() + ": expected "
                    + input.scalar_type().intern() + ", as input; convert one of the tensors with to()");
        }
    }
}
