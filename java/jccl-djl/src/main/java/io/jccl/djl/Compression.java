package io.jccl.djl;

/** The type in which gradients of float32 and float64 travel between ranks. */
public enum Compression {
    /** Gradients travel as they are. */
    NONE,
    /**
     * Gradients travel as float16, which has half of float32's bytes and 11 bits of precision. The rounding error of a
     * rank's gradient is added to its next gradient (error feedback), so that it is late and not lost. Elements are
     * divided by the number of ranks before they travel. What an element then exceeds 65504 by is cut off and follows
     * in later steps.
     */
    FLOAT16
}
