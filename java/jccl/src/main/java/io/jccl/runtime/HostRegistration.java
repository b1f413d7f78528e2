package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.JcclException;
import io.jccl.Registration;
import io.jccl.nativelib.NativeEngine;
import io.jccl.nativelib.NativeMemory;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The registration of host memory. While it lasts, ranks of other processes use the memory in place, or adapters use it
 * without registering it for each operation. Also stands for memory that needs no registration.
 */
public final class HostRegistration implements Registration {

    private static final Logger LOG = LoggerFactory.getLogger(HostRegistration.class);

    private static final long NONE = 0;

    private final CommunicatorImpl communicator;
    private final NativeEngine engine;
    private final DataBuffer buffer;
    private final boolean isShared;
    private final AtomicBoolean closed = new AtomicBoolean();
    private boolean inPlace; // written before other threads can have this object
    private long adopted = NONE; // number of the memory's shared pages; guarded by this, like the next two fields
    private long kept = NONE; // number of the memory's registration with adapters
    private boolean pinned;

    HostRegistration(CommunicatorImpl communicator, NativeEngine engine, DataBuffer buffer) {
        this.communicator = communicator;
        this.engine = engine;
        this.buffer = buffer;
        this.isShared = buffer.memory() == DataBuffer.Memory.SHARED;
    }

    /**
     * Gives the memory shared pages, unless it has them already.
     *
     * @throws JcclException if that is impossible; the message has the reason and the remedy
     */
    synchronized void adopt() {
        if (!isShared) {
            adopted = NativeMemory.registered(buffer.address(), buffer.bytes());
        }
    }

    /** Lets other ranks or this rank's adapters use the memory. Returns true if the registration makes a difference. */
    synchronized boolean use(MemoryReach reach) {
        inPlace = reach.isInPlace();
        if (reach == MemoryReach.ADAPTERS) {
            if (isShared) {
                buffer.pin();
                pinned = true;
            }
            kept = engine.keepMemory(buffer.address(), buffer.bytes());
        }
        return reach.usesRegistered() && (adopted != NONE || kept != NONE);
    }

    @Override
    public DataBuffer buffer() {
        return buffer;
    }

    @Override
    public boolean isInPlace() {
        return inPlace;
    }

    @Override
    public void close() {
        if (communicator.isClosed() || !closed.compareAndSet(false, true)) {
            return;
        }
        communicator.whileNothingIsIssued(() -> {
            if (!communicator.hasFailed()) {
                communicator.drainHost();
            }
            return null;
        });
        try {
            end();
            communicator.forget(this);
        } finally {
            if (!communicator.hasFailed()) {
                communicator.allGatherObject(new byte[0]); // returns when all ranks have ended the registration
            }
        }
    }

    /**
     * Gives the buffer private memory again. No operation may use the buffer any more.
     *
     * @throws JcclException if the system has no memory for it; then the buffer stays registered
     */
    synchronized void end() {
        if (kept != NONE) {
            engine.dropMemory(kept);
            kept = NONE;
        }
        if (pinned) {
            buffer.unpin();
            pinned = false;
        }
        if (adopted == NONE) {
            return;
        }
        boolean there = NativeMemory.endRegistration(adopted);
        adopted = NONE;
        if (!there) {
            LOG.warn(
                    "rank={}: {} was freed while it was registered; later operations used it only through slots; close"
                            + " the registration before its memory is freed",
                    communicator.rank(),
                    buffer);
        }
    }
}
