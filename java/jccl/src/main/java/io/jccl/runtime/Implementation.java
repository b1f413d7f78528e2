package io.jccl.runtime;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import io.jccl.Reduction;
import io.jccl.UniqueId;
import io.jccl.WireFormat;
import io.jccl.init.CommunicatorInitializer;
import io.jccl.internal.Arguments;
import io.jccl.internal.Causes;
import io.jccl.nativelib.NativeMemory;
import java.lang.ref.Reference;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.Collection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The class through which the API's factories reach the implementation. Package {@code io.jccl} refers to no other
 * class of the implementation.
 */
public final class Implementation {

    private static final Implementation INSTANCE = new Implementation();

    /** Count of communicators that this process initialised from its launcher's environment. */
    private final AtomicInteger launched = new AtomicInteger();

    private final SystemMemory memory = new SystemMemory(Path.of("/"));

    private Implementation() {
        Causes.prepare();
    }

    /** Returns the implementation of this process. */
    public static Implementation get() {
        return INSTANCE;
    }

    /** See {@link UniqueId#create(CommunicatorConfig)}. */
    public UniqueId createUniqueId(CommunicatorConfig config) {
        return CommunicatorInitializer.openRendezvous(config);
    }

    /** See {@link Communicator#init(UniqueId, int, int, CommunicatorConfig)}. */
    public Communicator init(UniqueId id, int rank, int size, CommunicatorConfig config) {
        check(id, rank, size, config);
        return CommunicatorImpl.started(VirtualThreads.callOnPlatformThread(
                "jccl-init", () -> CommunicatorInitializer.initialize(id, rank, size, config)));
    }

    /** See {@link Communicator#initAsync(UniqueId, int, int, CommunicatorConfig)}. */
    public CompletableFuture<Communicator> initAsync(UniqueId id, int rank, int size, CommunicatorConfig config) {
        check(id, rank, size, config);
        return AsyncInit.start(
                () -> CommunicatorImpl.started(CommunicatorInitializer.initialize(id, rank, size, config)));
    }

    private static void check(UniqueId id, int rank, int size, CommunicatorConfig config) {
        if (size < 1) {
            throw new IllegalArgumentException("size=" + size + ": expected at least 1 rank");
        }
        if (rank < 0 || rank >= size) {
            throw new IllegalArgumentException("rank=" + rank + " size=" + size + ": expected 0 to " + (size - 1));
        }
        Arguments.required("id", id, "what UniqueId.create() returned on one rank; move it to every rank");
        Arguments.required("config", config, "settings; CommunicatorConfig.defaults() sets none");
    }

    /** See {@link Communicator#fromEnvironment(CommunicatorConfig)}. */
    public Communicator fromEnvironment(CommunicatorConfig config) {
        int number = launched.getAndIncrement();
        return CommunicatorImpl.started(VirtualThreads.callOnPlatformThread(
                "jccl-init", () -> CommunicatorInitializer.fromEnvironment(number, config)));
    }

    /** See {@link Communicator#join(UniqueId, Collection, CommunicatorConfig)}. */
    public Communicator join(UniqueId id, Collection<String> members, CommunicatorConfig config) {
        Arguments.required("id", id, "the id by which the ranks of the job have met");
        Arguments.required("members", members, "what Communicator.memberAddresses() returned on a rank of the job");
        members.forEach(one -> Arguments.required("members", one, "addresses as host:port,host:port"));
        Arguments.required("config", config, "settings; CommunicatorConfig.defaults() sets none");
        return CommunicatorImpl.started(VirtualThreads.callOnPlatformThread(
                "jccl-init", () -> CommunicatorInitializer.join(id, members, config)));
    }

    /** Returns the address of the first byte (not of the position) of a direct buffer. */
    public long directAddress(Buffer buffer) {
        return NativeMemory.directAddress(buffer);
    }

    /** Allocates zeroed memory that other processes can map, page-aligned; never returns 0. */
    public long allocateShared(long bytes) {
        memory.requireFits(bytes);
        return NativeMemory.sharedAlloc(bytes);
    }

    /**
     * Gives back the pages of memory that {@link #allocateShared} returned. Until {@link #freeShared} the addresses can
     * be read and written, and are not used for other memory.
     */
    public void retireShared(long address) {
        NativeMemory.sharedRetire(address);
    }

    /** Frees memory that {@link #allocateShared} returned. */
    public void freeShared(long address) {
        NativeMemory.sharedFree(address);
    }

    /**
     * Rounds float32 in a direct buffer as operations with a format between hosts do.
     *
     * @param position place of the first element in the application's buffer, a multiple of {@link WireFormat#BLOCK}
     */
    public void round(WireFormat format, FloatBuffer elements, long position, int count) {
        NativeMemory.round(
                Signatures.wireCode(format), format.seed(), NativeMemory.directAddress(elements), position, count);
        Reference.reachabilityFence(elements);
    }

    /** See {@link ReduceOp#reduceLocal}. */
    public void reduceLocal(DataBuffer accumulator, DataBuffer next, ReduceOp op) {
        LocalReduction.run(accumulator, next, op);
    }

    /** See {@link Reduction#reduceLocal}. */
    public void reduceLocal(DataBuffer accumulator, DataBuffer next, Reduction reduction) {
        LocalReduction.run(accumulator, next, reduction);
    }

    /** Returns a direct buffer over existing memory, which must outlive the buffer. */
    public ByteBuffer view(long address, int bytes) {
        return NativeMemory.view(address, bytes);
    }
}
