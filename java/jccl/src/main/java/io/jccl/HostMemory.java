package io.jccl;

import io.jccl.internal.Threads;
import io.jccl.runtime.Implementation;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Map;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.jspecify.annotations.Nullable;

/**
 * The memory of a {@link HostBuffer}. Pins and holders determine when the memory is freed.
 *
 * <p>Each operation in flight is a pin and keeps the pages. The pages are returned to the system when the memory is
 * closed and has no pins. The buffer and its views are holders and keep the addresses. The addresses are freed when the
 * garbage collector has found all holders unreachable. If the memory is still open at that time, it is closed.
 */
final class HostMemory implements MemoryLife {

    /** All memory whose addresses are not freed yet; the key is its address. */
    private static final ConcurrentNavigableMap<Long, HostMemory> ALL = new ConcurrentSkipListMap<>();

    private static final int MAX_PART_BYTES = 1 << 26;

    private static final int CLOSED = 1;
    private static final int PIN = 2;

    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(HostMemory.class, "state", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private static @Nullable Cleaner cleaner; // guarded by the lock of the class; null until memory is first allocated

    private final long address;
    private final long bytes;
    private int holders; // guarded by this, like released
    private boolean released;

    @SuppressWarnings("unused") // accessed through STATE: PIN times the number of pins, plus CLOSED
    private int state;

    private HostMemory(long address, long bytes) {
        this.address = address;
        this.bytes = bytes;
    }

    static HostMemory allocate(long bytes) {
        cleaner(); // called first, because it can throw: nothing is allocated yet that would have to be freed
        HostMemory memory = new HostMemory(Implementation.get().allocateShared(bytes), bytes);
        ALL.put(memory.address, memory);
        return memory;
    }

    /**
     * Returns the cleaner of all memory. Its thread starts with the first memory, so programs without a {@link
     * HostBuffer} do not have it.
     *
     * @throws JcclException if the thread cannot be started
     */
    private static synchronized Cleaner cleaner() {
        if (cleaner == null) {
            cleaner = Threads.startedBy("the cleaner of host buffers", Cleaner::create);
        }
        return cleaner;
    }

    /** Returns the memory that contains an address, or null if none does. */
    static @Nullable HostMemory at(long address) {
        if (ALL.isEmpty()) {
            return null;
        }
        Map.Entry<Long, HostMemory> below = ALL.floorEntry(address);
        return below == null || address - below.getKey() >= below.getValue().bytes ? null : below.getValue();
    }

    long address() {
        return address;
    }

    long bytes() {
        return bytes;
    }

    boolean isClosed() {
        return ((int) STATE.getVolatile(this) & CLOSED) != 0;
    }

    @Override
    public void requireOpen() {
        if (isClosed()) {
            throw new IllegalStateException("HostBuffer bytes=" + bytes
                    + " is closed: close it, or the arena that it is a block of, after its last use");
        }
    }

    /** Keeps the pages until {@link #unpin}. Throws if the memory is closed. */
    @Override
    public void pin() {
        int before = (int) STATE.getVolatile(this);
        while ((before & CLOSED) == 0) {
            int found = (int) STATE.compareAndExchange(this, before, before + PIN);
            if (found == before) {
                return;
            }
            before = found;
        }
        requireOpen();
    }

    @Override
    public void unpin() {
        int before = (int) STATE.getAndAdd(this, -PIN);
        if (before < PIN) {
            STATE.getAndAdd(this, PIN);
            throw new IllegalStateException(
                    "HostBuffer bytes=" + bytes + " pins=0: expected a pin to undo; call unpin() once for each pin()");
        }
        if (before == (PIN | CLOSED)) {
            release();
        }
    }

    /** Refuses pins from now on, and returns the pages to the system, now or when the last pin is undone. */
    void close() {
        if ((int) STATE.getAndBitwiseOr(this, CLOSED) == 0) {
            release();
        }
    }

    /** Keeps the addresses while an object is reachable, or until {@code clean()} is called on the result. */
    Cleaner.Cleanable hold(Object holder) {
        synchronized (this) {
            holders++;
        }
        return cleaner().register(holder, this::dropHolder);
    }

    /** Like {@link #hold}. Throws if the memory is closed. */
    synchronized void holdOpen(Object holder) {
        requireOpen();
        hold(holder);
    }

    /**
     * Returns a part of the memory as a direct buffer. This buffer and all buffers derived from it keep the addresses.
     */
    ByteBuffer view(long offset, int length) {
        ByteBuffer view = Implementation.get().view(address + offset, length);
        holdOpen(view);
        return view;
    }

    /** Passes {@code count} elements to an action, in parts, and keeps the pages meanwhile. */
    void copy(long offset, int count, int elementBytes, HostBuffer.PartCopy action) {
        pin();
        try {
            int max = MAX_PART_BYTES / elementBytes;
            for (int done = 0; done < count; done += Math.min(max, count - done)) {
                int part = Math.min(max, count - done);
                ByteBuffer view = Implementation.get()
                        .view(address + offset + (long) done * elementBytes, part * elementBytes)
                        .order(ByteOrder.nativeOrder());
                action.copy(view, done, part);
            }
        } finally {
            unpin();
        }
    }

    private synchronized void dropHolder() {
        holders--;
        if (holders > 0) {
            return;
        }
        if (released) {
            free();
        } else {
            close();
        }
    }

    private synchronized void release() {
        released = true;
        if (holders > 0) {
            Implementation.get().retireShared(address);
        } else {
            free();
        }
    }

    private void free() {
        ALL.remove(address, this);
        Implementation.get().freeShared(address);
    }
}
