package io.jccl.djl;

/** The type in which gradients of float32 and float64 travel between ranks. */
public enum Compression {
    /** Gradients travel as they are. */
    NONE,
    /**
     * Gradients travel as float16, which has half of float32's bytes and 11 bits of precision. The rounding error of a
     * rank's gradient is added to its next gradient (error feedback), so that the error is delayed and not lost.
     * Elements are divided by the number of ranks before they travel. The part of an element beyond 65504 is then cut
     * off, and follows in later steps.
     */
    FLOAT16
}
