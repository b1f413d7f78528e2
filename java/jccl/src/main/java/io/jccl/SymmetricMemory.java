package io.jccl;

import io.jccl.runtime.SymmetricAllocation;

/**
 * Memory that all ranks of a communicator have allocated together, with the same number of bytes on each; see {@link
 * Communicator#allocateSymmetric}. The memory starts zeroed.
 *
 * <p>Any thread may call any method except {@link #close()}, which all ranks call together.
 */
public sealed interface SymmetricMemory extends AutoCloseable permits SymmetricAllocation, Window {

    /** Returns the number of bytes, which is the same on all ranks. */
    long bytes();

    /**
     * Returns elements of this rank's memory for use in operations, without a copy. Do not use them after {@link
     * #close()}.
     *
     * @param offsetBytes the offset of the first element
     * @param count the number of elements
     * @param type the type of the elements
     * @throws IllegalArgumentException if the elements are not within the memory
     * @throws IllegalStateException if the memory or its communicator is closed
     */
    DataBuffer slice(long offsetBytes, long count, DataType type);

    /**
     * Returns the whole memory as elements, without the bytes that follow the last whole element.
     *
     * @param type the type of the elements
     * @throws IllegalStateException if the memory or its communicator is closed
     */
    default DataBuffer as(DataType type) {
        return slice(0, bytes() / DataBuffer.required(type).bytes(), type);
    }

    /** Same as {@link #as}, whose name is a keyword in Kotlin. */
    default DataBuffer elements(DataType type) {
        return as(type);
    }

    /**
     * Returns true if operations can move data directly between the ranks' memory. The result is the same on all ranks.
     */
    boolean isInPlace();

    /**
     * Frees the memory. All ranks call this method, in the same order as their other calls, and it returns when all
     * have called it and no operation uses the memory of any rank. Graphs that have captured operations on the memory
     * must not be replayed afterwards. A second call does nothing.
     *
     * <p>{@link Communicator#close()} frees the memory of GPUs that was not closed before, and waits for no other rank.
     * After a failure of the communicator, this call waits for no other rank either; the memory is then freed when the
     * communicator is closed.
     *
     * @throws DeviceException if kernels of other communicators prevent a rank from unmapping the memory of the other
     *     ranks; names the rank. The memory is then freed when the communicator is closed
     * @throws JcclException as {@link Work#await()}
     */
    @Override
    void close();
}
