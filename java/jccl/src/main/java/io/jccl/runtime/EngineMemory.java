package io.jccl.runtime;

import io.jccl.MemoryUsage;
import io.jccl.nativelib.NativeEngine;

/** Reads the engine's numbers about memory. */
final class EngineMemory {

    private EngineMemory() {}

    /** Reads {@code {reserved, resident, network}}; all 0 once the engine is destroyed. */
    static MemoryUsage usage(NativeEngine engine, long stagingBytes) {
        long[] row = engine.memoryUsage();
        return row.length < 3
                ? new MemoryUsage(0, 0, 0, stagingBytes)
                : new MemoryUsage(row[0], row[1], row[2], stagingBytes);
    }
}
