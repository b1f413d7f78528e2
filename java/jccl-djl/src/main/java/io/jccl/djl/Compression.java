package io.jccl.djl;

import ai.djl.ndarray.types.DataType;
import org.jspecify.annotations.Nullable;

/**
 * The type in which gradients of float32 and float64 travel between ranks. What rounding takes away from a gradient of a rank
 * is added to its next one (error feedback), so that it is late and not lost.
 */
public enum Compression {
    /** Gradients travel as they are. */
    NONE(null, 0),
    /**
     * Half of float32's bytes with 11 bits of precision. Elements are divided by the number of ranks before they travel, and
     * what lies beyond 65504 then is cut and follows with later steps.
     */
    FLOAT16(DataType.FLOAT16, 65504),
    /** Half of float32's bytes with float32's range and 8 bits of precision. */
    BFLOAT16(DataType.BFLOAT16, Float.MAX_VALUE);

    private final @Nullable DataType type;
    private final float max;

    Compression(@Nullable DataType type, float max) {
        this.type = type;
        this.max = max;
    }

    /** The type between ranks, which every constant but {@link #NONE} has. */
    DataType type() {
        if (type == null) {
            throw new IllegalStateException("compression=NONE: expected one with a type");
        }
        return type;
    }

    /** The largest number that travels. */
    float max() {
        return max;
    }
}
