package io.jccl;

import io.jccl.runtime.BufferRegistration;
import io.jccl.runtime.HostRegistration;

/**
 * Memory that all ranks of a communicator have registered together; see {@link Communicator#register}. It keeps the buffer
 * reachable until it is closed.
 */
public sealed interface Registration extends AutoCloseable permits BufferRegistration, HostRegistration {

    /** What this rank has registered. */
    DataBuffer buffer();

    /** Whether operations on it work in place, because of the registration or without one; the same on all ranks. */
    boolean isInPlace();

    /**
     * Ends the registration. All ranks call this, in the order of their other calls; it returns when all have. No rank uses the
     * others' memory any more then. It waits for what was issued on this rank's device; graphs that have captured operations on
     * the buffer must not be replayed afterwards. A second call does nothing.
     *
     * <p>Memory of the host has other pages afterwards, with the same bytes: nobody may write to it during this call, and
     * what its owner frees before is no longer used in place, which a warning says.
     *
     * <p>{@link Communicator#close()} ends what is still registered, but waits for no other rank. After a failure of the
     * communicator this does not wait for the others either: free the memory when all have closed, or their processes have ended.
     *
     * @throws DeviceException if kernels of other communicators keep a rank from giving up the memory of the others; it says
     *     which. Do not free the memory before these operations have ended
     * @throws JcclException if the system has no memory to move the bytes of memory of the host to, which stays registered
     *     then; else as {@link Work#await()}
     */
    @Override
    void close();
}
