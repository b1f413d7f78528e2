package io.jccl.nativelib;

import java.lang.annotation.Native;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** What the kernels of an engine report of their ends, in memory of the engine. Any thread reads it, without a native. */
final class LaunchReport {

    /** Result of {@link #query}: the native engine has to be asked. */
    static final int UNKNOWN = Integer.MIN_VALUE;

    // Offsets in the report, and its size in bytes.

    /** Number of the last operation that has ended. */
    @Native
    private static final int ENDED = 0;
    /** Number of the first operation that failed; 0 if none has. */
    @Native
    private static final int FAILED = 8;

    @Native
    private static final int BYTES = 128;

    private static final VarHandle WORDS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    /** Interval in which the native engine is asked, which finds failures of the device. */
    private static final long ASK_NANOS = 5_000_000;

    private final ByteBuffer words;

    private volatile long asked; // time at which query() last returned UNKNOWN

    LaunchReport(long address) {
        words = NativeMemory.view(address, BYTES);
    }

    /**
     * Returns {@link DeviceEngine#PENDING} or {@link DeviceEngine#DONE}; {@link #UNKNOWN} if an operation has failed, or
     * from time to time while one is pending. The engine exists until the call returns.
     */
    int query(long number) {
        boolean ended = (long) WORDS.getAcquire(words, ENDED) >= number;
        if (ended && (long) WORDS.getOpaque(words, FAILED) == 0) {
            return DeviceEngine.DONE;
        }
        long now = System.nanoTime();
        if (!ended && now - asked < ASK_NANOS) {
            return DeviceEngine.PENDING;
        }
        asked = now;
        return UNKNOWN;
    }
}
