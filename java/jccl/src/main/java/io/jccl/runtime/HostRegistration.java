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
 * Memory of the host that the ranks of other processes use in place while it is registered, or adapters without registering it
 * for each operation; or memory that needs no registration.
 */
public final class HostRegistration implements Registration {

    private static final Logger LOG = LoggerFactory.getLogger(HostRegistration.class);

    private static final long NONE = 0;

    private final CommunicatorImpl communicator;
    private final NativeEngine engine;
    private final DataBuffer buffer;
    private final boolean isShared;
    private final AtomicBoolean closed = new AtomicBoolean();
    private boolean inPlace; // set before anybody has this
    private long adopted = NONE; // the number of shared pages that the memory has; guarded by this, as the next
    private long kept = NONE; // the number of what adapters know
    private boolean pinned;

    HostRegistration(CommunicatorImpl communicator, NativeEngine engine, DataBuffer buffer) {
        this.communicator = communicator;
        this.engine = engine;
        this.buffer = buffer;
        this.isShared = buffer.memory() == DataBuffer.Memory.SHARED;
    }

    /**
     * Gives the memory shared pages, unless it has them.
     *
     * @throws JcclException if it cannot have them; says why, and the remedy
     */
    synchronized void adopt() {
        if (!isShared) {
            adopted = NativeMemory.registered(buffer.address(), buffer.bytes());
        }
    }

    /** Has the other ranks or this one's adapters use it, if they do. Returns whether that is because it is registered. */
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
                communicator.allGatherObject(new byte[0]); // so that it returns when all have
            }
        }
    }

    /**
     * Gives the buffer private memory again; no operation over it is executed any more.
     *
     * @throws JcclException if the system has no memory for it; it stays registered then
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
                    "rank={}: {} was freed while it was registered, and used through slots if at all since; close the"
                            + " registration before its memory is freed",
                    communicator.rank(),
                    buffer);
        }
    }
}
