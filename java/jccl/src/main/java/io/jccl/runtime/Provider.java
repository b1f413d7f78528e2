package io.jccl.runtime;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.UniqueId;
import io.jccl.init.CommunicatorInitializer;
import io.jccl.internal.Arguments;
import io.jccl.internal.Causes;
import io.jccl.internal.JcclProvider;
import io.jccl.nativelib.NativeMemory;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Collection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/** The implementation of the API, as {@link java.util.ServiceLoader} finds it. */
public final class Provider implements JcclProvider {

    /** How many communicators this process initialised from its launcher's environment. */
    private final AtomicInteger launched = new AtomicInteger();

    private final SystemMemory memory = new SystemMemory(Path.of("/"));

    /** Called by {@link java.util.ServiceLoader}. */
    public Provider() {
        Causes.prepare();
    }

    @Override
    public UniqueId createUniqueId(CommunicatorConfig config) {
        return CommunicatorInitializer.openRendezvous(config);
    }

    @Override
    public Communicator init(UniqueId id, int rank, int size, CommunicatorConfig config) {
        check(id, rank, size, config);
        return CommunicatorImpl.started(VirtualThreads.callOnPlatformThread(
                "jccl-init", () -> CommunicatorInitializer.initialize(id, rank, size, config)));
    }

    @Override
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

    @Override
    public Communicator fromEnvironment(CommunicatorConfig config) {
        int number = launched.getAndIncrement();
        return CommunicatorImpl.started(VirtualThreads.callOnPlatformThread(
                "jccl-init", () -> CommunicatorInitializer.fromEnvironment(number, config)));
    }

    @Override
    public Communicator join(UniqueId id, Collection<String> members, CommunicatorConfig config) {
        Arguments.required("id", id, "the id by which the ranks of the job have met");
        Arguments.required("members", members, "what Communicator.memberAddresses() returned on a rank of the job");
        members.forEach(one -> Arguments.required("members", one, "addresses as host:port,host:port"));
        Arguments.required("config", config, "settings; CommunicatorConfig.defaults() sets none");
        return CommunicatorImpl.started(VirtualThreads.callOnPlatformThread(
                "jccl-init", () -> CommunicatorInitializer.join(id, members, config)));
    }

    @Override
    public long directAddress(Buffer buffer) {
        return NativeMemory.directAddress(buffer);
    }

    @Override
    public long allocateShared(long bytes) {
        memory.requireFits(bytes);
        return NativeMemory.sharedAlloc(bytes);
    }

    @Override
    public void retireShared(long address) {
        NativeMemory.sharedRetire(address);
    }

    @Override
    public void freeShared(long address) {
        NativeMemory.sharedFree(address);
    }

    @Override
    public ByteBuffer view(long address, int bytes) {
        return NativeMemory.view(address, bytes);
    }
}
