package io.jccl.internal;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.UniqueId;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.concurrent.CompletableFuture;

/**
 * The implementation of the API. The factories of the API find it through {@link java.util.ServiceLoader}, so that the
 * API depends on nothing.
 */
public interface JcclProvider {

    /** See {@link UniqueId#create(CommunicatorConfig)}. */
    UniqueId createUniqueId(CommunicatorConfig config);

    /** See {@link Communicator#init(UniqueId, int, int, CommunicatorConfig)}. */
    Communicator init(UniqueId id, int rank, int size, CommunicatorConfig config);

    /** See {@link Communicator#initAsync(UniqueId, int, int, CommunicatorConfig)}. */
    CompletableFuture<Communicator> initAsync(UniqueId id, int rank, int size, CommunicatorConfig config);

    /** See {@link Communicator#fromEnvironment(CommunicatorConfig)}. */
    Communicator fromEnvironment(CommunicatorConfig config);

    /** See {@link Communicator#join(UniqueId, Collection, CommunicatorConfig)}. */
    Communicator join(UniqueId id, Collection<String> members, CommunicatorConfig config);

    /** Returns the address of the first byte (not of the position) of a direct buffer. */
    long directAddress(Buffer buffer);

    /** Allocates zeroed memory that other processes can map, page-aligned; never returns 0. */
    long allocateShared(long bytes);

    /**
     * Gives back the pages of memory that {@link #allocateShared} returned. Until {@link #freeShared} the addresses can
     * be read and written, and are not used for other memory.
     */
    void retireShared(long address);

    /** Frees memory that {@link #allocateShared} returned. */
    void freeShared(long address);

    /** Returns a direct buffer over existing memory, which must outlive the buffer. */
    ByteBuffer view(long address, int bytes);
}
