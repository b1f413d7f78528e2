package io.jccl;

import io.jccl.runtime.BufferRegistration;
import io.jccl.runtime.HostRegistration;

/**
 * Memory that all ranks of a communicator have registered together; see {@link Communicator#register}. A registration
 * keeps its buffer reachable until it is closed.
 */
public sealed interface Registration extends AutoCloseable permits BufferRegistration, HostRegistration {

    /** Returns the buffer that this rank has registered. */
    DataBuffer buffer();

    /**
     * Returns true if operations can move data directly between the ranks' buffers, whether or not they need the
     * registration for that. The result is the same on all ranks.
     */
    boolean isInPlace();

    /**
     * Ends the registration. All ranks call this method, in the same order as their other calls, and it returns when
     * all have called it. From then on no rank uses the memory of another. This call waits for the operations that were
     * issued on this rank's device. Graphs that have captured operations on the buffer must not be replayed afterwards.
     * A second call does nothing.
     *
     * <p>For host memory, this call replaces the pages by others with the same bytes, so no thread may write to the
     * memory during this call. If the application freed the memory earlier, operations stopped using it in place then,
     * and this call logs a warning.
     *
     * <p>{@link Communicator#close()} ends all remaining registrations, but waits for no other rank. After a failure of
     * the communicator, this call does not wait for other ranks either: free the memory when all ranks have closed the
     * registration or the communicator, or their processes have ended.
     *
     * @throws DeviceException if kernels of other communicators prevent a rank from unmapping the memory of the other
     *     ranks; names the rank. Do not free the memory until these kernels have ended
     * @throws JcclException if the system has no memory to which the bytes of host memory can move; the memory then
     *     stays registered. Otherwise as {@link Work#await()}
     */
    @Override
    void close();
}
