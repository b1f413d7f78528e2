package io.jccl.nativelib;

import io.jccl.DeviceException;
import java.lang.annotation.Native;
import java.util.Arrays;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The test of the memory of peers, before a {@link DeviceEngine} uses it. */
public final class MemoryProbe {

    @Native
    private static final int STEPS = 5;
    /** Bit in the result of {@link #probe}: this rank's reads of the peer's memory failed. */
    @Native
    public static final int READS = 1;
    /** Bit in the result of {@link #probe}: the peer's writes to this rank's memory failed. */
    @Native
    public static final int WRITES = 2;

    private MemoryProbe() {}

    /**
     * Tests whether this rank's GPU and those of peers read and write each other's memory as it is. All ranks call this
     * together when all have connected.
     *
     * @param peers ranks that this rank has connected to, and that have connected to this rank
     * @param barrier waits until all ranks have called it
     * @param left returns the time in nanoseconds that is left
     * @return for each rank the bits {@link #READS} and {@link #WRITES}; 0 if its memory passed the test
     */
    public static byte[] probe(DeviceEngine engine, int[] peers, Runnable barrier, LongSupplier left) {
        byte[] failures = new byte[0];
        for (int step = 0; step < STEPS; step++) {
            if (step > 0) {
                barrier.run();
            }
            failures = probe(engine.handle, step, peers, left.getAsLong());
            if (failures == null) {
                throw new DeviceException("the memory of the GPUs of ranks " + Arrays.toString(peers)
                        + " cannot be tested: " + engine.lastError()
                        + "; if GPUs of this host cannot use each other's memory, set JCCL_P2P_DISABLE=1");
            }
        }
        return failures;
    }

    private static native byte @Nullable [] probe(long handle, int step, int[] peers, long timeoutNanos);
}
