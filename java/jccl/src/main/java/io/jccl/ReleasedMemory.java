package io.jccl;

import io.jccl.internal.Releases;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** The lifetime of memory whose owner is told when its last pin is undone. After that, the memory has no pins any more. */
final class ReleasedMemory implements MemoryLife {

    private static final int RELEASED = -1;

    private final Runnable callback;
    private final @Nullable MemoryLife shared; // the HostBuffer that contains the memory; null if none does
    private final AtomicInteger pins = new AtomicInteger(); // RELEASED from the moment the callback is called

    ReleasedMemory(Runnable callback, @Nullable MemoryLife shared) {
        this.callback = callback;
        this.shared = shared;
    }

    @Override
    public void requireOpen() {
        if (pins.get() == RELEASED) {
            throw new IllegalStateException("the memory of this DataBuffer was released when the last operation over it"
                    + " ended; create a DataBuffer for each operation, or pin() it before the first");
        }
        if (shared != null) {
            shared.requireOpen();
        }
    }

    @Override
    public void pin() {
        if (shared != null) {
            shared.pin();
        }
        if (pins.updateAndGet(now -> now == RELEASED ? RELEASED : now + 1) == RELEASED) {
            if (shared != null) {
                shared.unpin();
            }
            requireOpen();
        }
    }

    @Override
    public void unpin() {
        int before = pins.getAndUpdate(now -> now > 1 ? now - 1 : now == 1 ? RELEASED : now);
        if (before <= 0) {
            throw new IllegalStateException("DataBuffer with a callback pins=" + Math.max(before, 0)
                    + ": expected a pin to undo; call unpin() once for each pin()");
        }
        if (shared != null) {
            shared.unpin();
        }
        if (before == 1) {
            Releases.run(callback);
        }
    }

    /** Calls the callback now, unless the memory has pins or the callback was called before. */
    void settle() {
        if (pins.compareAndSet(0, RELEASED)) {
            Releases.run(callback);
        }
    }
}
