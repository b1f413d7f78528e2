package io.jccl.djl;

/** The type in which gradients of float32 and float64 travel between ranks. */
public enum Compression {
    /** Gradients travel as they are. */
    NONE,
    /**
     * Half of float32's bytes with 11 bits of precision. What rounding takes away from a gradient of a rank is added to
     * its next one (error feedback), so that it is late and not lost. Elements are divided by the number of ranks
     * before they travel; what lies beyond 65504 then is cut and follows with later steps.
     */
    FLOAT16
}
