package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.JcclException;
import io.jccl.Registration;
import io.jccl.SymmetricMemory;
import io.jccl.internal.Arguments;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/** This rank's part of symmetric memory: memory of the backend that executes operations on it, and its registration. */
public final class SymmetricAllocation implements SymmetricMemory {

    private static final int MAX_REASON_BYTES = 1 << 16;

    private final CommunicatorImpl communicator;
    private final Backend backend;
    private final Memory memory;
    private final long bytes;
    private final Registration registration;
    private final AtomicBoolean closed = new AtomicBoolean();

    /** Memory that a backend has allocated. */
    interface Memory {

        /** Returns elements of the memory; the caller has checked that the memory contains them. */
        DataBuffer slice(long offsetBytes, long count, DataType type);

        /** Returns the memory as a buffer of the host; empty for memory of a device. */
        default Optional<HostBuffer> host() {
            return Optional.empty();
        }

        /** Lets operations use the memory, once it is registered; all ranks call this together. */
        default void use(CommunicatorImpl communicator, Registration registration) {}

        /** Frees the memory, which no operation of any rank uses any more. */
        void free();
    }

    private SymmetricAllocation(
            CommunicatorImpl communicator, Backend backend, Memory memory, long bytes, Registration registration) {
        this.communicator = communicator;
        this.backend = backend;
        this.memory = memory;
        this.bytes = bytes;
        this.registration = registration;
    }

    /**
     * Allocates memory and registers it; all ranks call this together.
     *
     * @param backend the backend whose memory is allocated
     * @throws IllegalArgumentException on all ranks if their sizes differ
     * @throws JcclException on all ranks if any rank cannot allocate; the message names the rank and the reason
     */
    static SymmetricAllocation allocate(CommunicatorImpl communicator, Backend backend, long bytes) {
        return allocate(communicator, backend, bytes, (data, size) -> data);
    }

    /** Returns the number of bytes to allocate for an allocation of {@code bytes} on each of {@code size} ranks. */
    @FunctionalInterface
    interface Room {
        long totalBytes(long bytes, int size);
    }

    /** Like {@link #allocate(CommunicatorImpl, Backend, long)}, with memory for more than the elements. */
    static SymmetricAllocation allocate(CommunicatorImpl communicator, Backend backend, long bytes, Room room) {
        Memory memory = null;
        String refusal = "";
        if (bytes > 0) {
            try {
                memory = communicator.whileNothingIsIssued(() -> {
                    drain(backend);
                    return backend.allocate(room.totalBytes(bytes, communicator.size()));
                });
            } catch (JcclException e) {
                refusal = e.getMessage();
            }
        }
        boolean registered = false;
        try {
            agree(communicator, bytes, refusal);
            Registration registration = communicator.register(memory.slice(0, bytes, DataType.INT8));
            registered = true;
            memory.use(communicator, registration);
            return new SymmetricAllocation(communicator, backend, memory, bytes, registration);
        } finally {
            if (!registered && memory != null) {
                memory.free();
            }
        }
    }

    private static void drain(Backend backend) {
        backend.queue().drain();
        backend.drain();
    }

    /** Exchanges the sizes and the reasons of failures; throws on all ranks if sizes differ or any rank has failed. */
    private static void agree(CommunicatorImpl communicator, long bytes, String refusal) {
        List<byte[]> all = communicator.allGatherObject(new WireWriter()
                .i64(bytes)
                .blob(refusal.getBytes(StandardCharsets.UTF_8))
                .toBytes());
        long[] sizes = new long[all.size()];
        String failed = "";
        for (int rank = 0; rank < all.size(); rank++) {
            WireReader in = new WireReader(all.get(rank));
            sizes[rank] = in.i64();
            String why = new String(in.blob(MAX_REASON_BYTES), StandardCharsets.UTF_8);
            in.end();
            if (!why.isEmpty() && failed.isEmpty()) {
                failed = "bytes=" + bytes + ": rank=" + rank + " cannot allocate the memory: " + why;
            }
            if (sizes[rank] != sizes[0] || sizes[rank] <= 0) {
                throw new IllegalArgumentException("bytes=" + sizes[0] + " on rank=0, bytes=" + sizes[rank]
                        + " on rank=" + rank + ": expected the same number of bytes on all ranks, at least 1");
            }
        }
        if (!failed.isEmpty()) {
            throw new JcclException(failed);
        }
    }

    /** Returns the memory as a buffer of the host; empty for memory of a device. */
    Optional<HostBuffer> host() {
        return memory.host();
    }

    @Override
    public long bytes() {
        return bytes;
    }

    @Override
    public DataBuffer slice(long offsetBytes, long count, DataType type) {
        Arguments.required("type", type, "the type of the elements");
        if (offsetBytes < 0 || count < 0 || offsetBytes > bytes || count > (bytes - offsetBytes) / type.bytes()) {
            throw new IllegalArgumentException("offsetBytes=" + offsetBytes + " count=" + count + " type="
                    + type.label() + ": lies outside of this memory of bytes=" + bytes);
        }
        if (closed.get() || communicator.isClosed()) {
            throw new IllegalStateException(
                    "bytes=" + bytes + ": this memory or its communicator is closed; use the memory before that");
        }
        return memory.slice(offsetBytes, count, type);
    }

    @Override
    public boolean isInPlace() {
        return registration.isInPlace();
    }

    @Override
    public void close() {
        if (communicator.isClosed() || !closed.compareAndSet(false, true)) {
            return;
        }
        registration.close();
        communicator.whileNothingIsIssued(() -> {
            drain(backend);
            return null;
        });
        if (communicator.hasFailed()) {
            return; // kernels of other ranks may still use the memory, which ends with the communicator
        }
        communicator.allGatherObject(new byte[0]); // all ranks have ended their operations
        communicator.whileNothingIsIssued(() -> {
            memory.free();
            return null;
        });
    }
}
