package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.Window;
import io.jccl.internal.MemoryHold;
import io.jccl.internal.Releases;
import io.jccl.nativelib.Code;
import io.jccl.nativelib.NativeEngine;
import io.jccl.nativelib.NativeWindow;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/** This rank's part of a window: symmetric memory of the host with one-sided operations. */
public final class WindowAllocation implements Window {

    private static final int MAX_REASON_BYTES = 1 << 16;
    private static final int MAX_PLACE_BYTES = 1 << 10;
    private static final int NO_SIGNAL = NativeWindow.NO_SIGNAL;

    /** Bytes of a Java array that are staged at once; puts and gets move data in parts anyway. */
    private static final long STAGED_BYTES = 1 << 20;

    private final CommunicatorImpl communicator;
    private final NativeEngine engine;
    private final FailureState failures;
    private final SymmetricAllocation memory;
    private final NativeWindow window;
    private final int number;
    private final long timeoutNanos;
    private final ReentrantLock stagingLock = new ReentrantLock();
    private final HeapStaging staging = new HeapStaging(); // guarded by stagingLock
    private final AtomicBoolean closing = new AtomicBoolean();

    private WindowAllocation(
            CommunicatorImpl communicator,
            NativeEngine engine,
            FailureState failures,
            SymmetricAllocation memory,
            NativeWindow window,
            int number,
            long timeoutNanos) {
        this.communicator = communicator;
        this.engine = engine;
        this.failures = failures;
        this.memory = memory;
        this.window = window;
        this.number = number;
        this.timeoutNanos = timeoutNanos;
    }

    /**
     * Allocates the memory of a window and opens it; all ranks call this together.
     *
     * @param number the same on all ranks, and another one for each window
     * @throws IllegalArgumentException on all ranks if their sizes differ or are not positive
     * @throws JcclException on all ranks if any rank fails; the message names the rank and the reason
     */
    static WindowAllocation allocate(
            CommunicatorImpl communicator,
            HostBackend host,
            FailureState failures,
            int number,
            long bytes,
            long timeoutNanos) {
        NativeEngine engine = host.queue().engine();
        SymmetricAllocation memory = SymmetricAllocation.allocate(communicator, host, bytes, NativeWindow::totalBytes);
        NativeWindow[] window = new NativeWindow[1];
        boolean opened = false;
        try {
            long address = memory.slice(0, 0, DataType.INT8).address();
            List<byte[]> places = agree(
                    communicator,
                    () -> NativeWindow.describe(engine, address, NativeWindow.totalBytes(bytes, communicator.size())));
            agree(communicator, () -> {
                window[0] = communicator.whileNothingIsIssued(
                        () -> NativeWindow.open(engine, number, address, bytes, places));
                return new byte[0];
            });
            opened = true;
            return new WindowAllocation(communicator, engine, failures, memory, window[0], number, timeoutNanos);
        } finally {
            if (!opened) {
                if (window[0] != null) {
                    window[0].close();
                }
                memory.close();
            }
        }
    }

    /** Exchanges what each rank computes; throws on all ranks if any rank fails. */
    private static List<byte[]> agree(CommunicatorImpl communicator, Supplier<byte[]> own) {
        byte[] result = {};
        String refusal = "";
        try {
            result = own.get();
        } catch (JcclException e) {
            refusal = e.getMessage();
        }
        List<byte[]> results = new ArrayList<>();
        String failed = "";
        List<byte[]> all = communicator.allGatherObject(new WireWriter()
                .blob(result)
                .blob(refusal.getBytes(StandardCharsets.UTF_8))
                .toBytes());
        for (int rank = 0; rank < all.size(); rank++) {
            WireReader in = new WireReader(all.get(rank));
            results.add(in.blob(MAX_PLACE_BYTES));
            String why = new String(in.blob(MAX_REASON_BYTES), StandardCharsets.UTF_8);
            in.end();
            if (!why.isEmpty() && failed.isEmpty()) {
                failed = "rank=" + rank + ": " + why;
            }
        }
        if (!failed.isEmpty()) {
            throw new JcclException(failed);
        }
        return results;
    }

    @Override
    public long bytes() {
        return memory.bytes();
    }

    @Override
    public DataBuffer slice(long offsetBytes, long count, DataType type) {
        return memory.slice(offsetBytes, count, type);
    }

    @Override
    public ByteBuffer asByteBuffer(long offsetBytes, int lengthBytes) {
        slice(offsetBytes, lengthBytes, DataType.INT8); // checks
        return memory.host().orElseThrow().asByteBuffer(offsetBytes, lengthBytes);
    }

    @Override
    public boolean isInPlace() {
        return memory.isInPlace();
    }

    @Override
    public void put(int peer, long offsetBytes, DataBuffer source) {
        put(peer, offsetBytes, source, NO_SIGNAL);
    }

    @Override
    public void putSignal(int peer, long offsetBytes, DataBuffer source, int signal) {
        requireSignal(signal);
        put(peer, offsetBytes, source, signal);
    }

    @Override
    public void signal(int peer, int signal) {
        requireSignal(signal);
        begin(peer);
        check(window.put(peer, 0, 0, 0, signal, timeoutNanos), "signal", peer, signal, 0);
    }

    private void put(int peer, long offsetBytes, DataBuffer source, int signal) {
        try {
            putUnsettled(peer, offsetBytes, source, signal);
        } finally {
            Releases.settle(source);
        }
    }

    private void putUnsettled(int peer, long offsetBytes, DataBuffer source, int signal) {
        Checks.onHost("source", Checks.source("source", source));
        requireWithin(peer, offsetBytes, source.bytes());
        begin(peer);
        String call = signal == NO_SIGNAL ? "put" : "putSignal";
        if (HeapStaging.isHeap(source) || MemoryHold.isNeeded(source)) {
            move(source, (part, address, offset) -> {
                boolean last = offset + part.bytes() == source.bytes();
                int code = window.put(
                        peer, offsetBytes + offset, address, part.bytes(), last ? signal : NO_SIGNAL, timeoutNanos);
                check(code, call, peer, offsetBytes, source.bytes());
            });
            return;
        }
        // A small put within a host takes less time than the objects of move() would.
        source.pin();
        try {
            int code = window.put(peer, offsetBytes, source.pinnedAddress(), source.bytes(), signal, timeoutNanos);
            check(code, call, peer, offsetBytes, source.bytes());
        } finally {
            source.unpin();
            Reference.reachabilityFence(source);
        }
    }

    @Override
    public void get(int peer, long offsetBytes, DataBuffer target) {
        try {
            getUnsettled(peer, offsetBytes, target);
        } finally {
            Releases.settle(target);
        }
    }

    private void getUnsettled(int peer, long offsetBytes, DataBuffer target) {
        Checks.onHost("target", Checks.target("target", target));
        requireWithin(peer, offsetBytes, target.bytes());
        begin(peer);
        move(target, (part, address, offset) -> {
            int code = window.get(peer, offsetBytes + offset, address, part.bytes(), timeoutNanos);
            check(code, "get", peer, offsetBytes, target.bytes());
            if (HeapStaging.isHeap(part)) {
                staging.unstage(part, address);
            }
        });
    }

    @Override
    public long fetchAdd(int peer, long offsetBytes, long addend) {
        requireWithin(peer, offsetBytes, Long.BYTES);
        if (offsetBytes % Long.BYTES != 0) {
            throw new IllegalArgumentException("offsetBytes=" + offsetBytes + ": expected a multiple of 8");
        }
        begin(peer);
        long[] before = new long[1];
        move(DataBuffer.of(before), (answer, address, offset) -> {
            int code = window.add(peer, offsetBytes, addend, address, timeoutNanos);
            check(code, "fetchAdd", peer, offsetBytes, addend);
            staging.unstage(answer, address);
        });
        return before[0];
    }

    /** Moves a part of a buffer that is at an address. */
    private interface Move {
        /**
         * Moves one part.
         *
         * @param offset the first byte of the part in the whole buffer
         */
        void run(DataBuffer part, long address, long offset);
    }

    /** Moves a buffer: as a whole, or if it is an array in parts that are staged. */
    private void move(DataBuffer buffer, Move move) {
        if (HeapStaging.isHeap(buffer)) {
            moveStaged(buffer, move);
            return;
        }
        buffer.pin();
        try {
            if (MemoryHold.isNeeded(buffer)) {
                MemoryHold.run(buffer, () -> {
                    move.run(buffer, buffer.pinnedAddress(), 0);
                    return 0;
                });
            } else {
                move.run(buffer, buffer.pinnedAddress(), 0);
            }
        } finally {
            buffer.unpin();
            Reference.reachabilityFence(buffer);
        }
    }

    private void moveStaged(DataBuffer buffer, Move move) {
        long unit = buffer.type().bytes();
        long step = STAGED_BYTES / unit;
        stagingLock.lock();
        try {
            long at = 0;
            do {
                DataBuffer part = buffer.slice(at, Math.min(step, buffer.count() - at));
                move.run(part, staging.stage(part, null)[0], at * unit);
                at += part.count();
            } while (at < buffer.count());
        } finally {
            stagingLock.unlock();
        }
    }

    @Override
    public void waitSignal(int peer, int signal, long count) {
        requireSignal(signal);
        if (count < 1) {
            throw new IllegalArgumentException("count=" + count + ": expected at least 1 signal");
        }
        begin(peer);
        long deadline = System.nanoTime() + timeoutNanos;
        boolean isVirtual = VirtualThreads.isCurrent();
        for (; ; ) {
            long left = deadline - System.nanoTime();
            int code = window.waitSignal(peer, signal, count, isVirtual ? 0 : Deadlines.slice(left));
            if (code != Code.TIMEOUT || left <= 0) {
                check(code, "waitSignal", peer, signal, count);
                return;
            }
            if (Thread.currentThread().isInterrupted()) {
                throw new InterruptedCommunicationException(describe("waitSignal", peer, signal, count)
                        + ": the thread was interrupted, and no signal was taken; the window can be used further");
            }
            if (isVirtual) {
                VirtualThreads.pause(this);
            }
        }
    }

    @Override
    public void flush(int peer) {
        begin(peer);
        awaitFlush(peer);
    }

    private void awaitFlush(int peer) {
        check(window.flush(peer, timeoutNanos), "flush", peer, 0, 0);
    }

    @Override
    public void flush() {
        for (int peer = 0; peer < communicator.size(); peer++) {
            flush(peer);
        }
    }

    private static void requireSignal(int signal) {
        if (signal < 0 || signal >= SIGNALS) {
            throw new IllegalArgumentException(
                    "signal=" + signal + ": expected an id from 0 to " + (SIGNALS - 1) + ", see Window.SIGNALS");
        }
    }

    private void requireWithin(int peer, long offsetBytes, long bytes) {
        Checks.peer(peer, communicator.size());
        if (offsetBytes < 0 || offsetBytes > bytes() || bytes > bytes() - offsetBytes) {
            throw new IllegalArgumentException("offsetBytes=" + offsetBytes + " bytes=" + bytes
                    + ": lies outside of the window of bytes=" + bytes());
        }
    }

    private void begin(int peer) {
        Checks.peer(peer, communicator.size());
        if (closing.get() || communicator.isClosed()) {
            throw closed();
        }
        failures.requireNone();
    }

    private IllegalStateException closed() {
        return new IllegalStateException("window=" + number + " bytes=" + bytes()
                + ": this window or its communicator is closed; use the window before that");
    }

    /** Throws unless a call has succeeded. A failure of the call fails the communicator. */
    private void check(int code, String call, int peer, long at, long amount) {
        if (code == Code.OK) {
            return;
        }
        if (code == Code.INVALID || communicator.isClosed()) {
            throw closed();
        }
        String reason = NativeEngine.callError();
        throw failures.ended(code, describe(call, peer, at, amount), engine.lastEntered(), timeoutNanos, () -> reason)
                .exception();
    }

    private String describe(String call, int peer, long at, long amount) {
        String arguments =
                switch (call) {
                    case "signal" -> " signal=" + at;
                    case "waitSignal" -> " signal=" + at + " count=" + amount;
                    case "fetchAdd" -> " offsetBytes=" + at + " addend=" + amount;
                    case "flush" -> "";
                    default -> " offsetBytes=" + at + " bytes=" + amount;
                };
        return call + "(peer=" + peer + arguments + " window=" + number + ")";
    }

    /** Ends the waits of threads that use the window, because the communicator is being closed. */
    void endUse() {
        window.endUse();
    }

    @Override
    public void close() {
        if (communicator.isClosed() || !closing.compareAndSet(false, true)) {
            return;
        }
        try {
            if (!communicator.hasFailed()) {
                for (int peer = 0; peer < communicator.size(); peer++) {
                    awaitFlush(peer);
                }
                communicator.allGatherObject(new byte[0]); // no rank puts any more, and everything has arrived
            }
        } finally {
            window.close();
            communicator.forget(this);
            memory.close();
            stagingLock.lock();
            try {
                staging.close();
            } finally {
                stagingLock.unlock();
            }
        }
    }
}
