package io.jccl.tuning;

/**
 * What handing data to the next rank costs.
 *
 * @param hopMicros from a rank's store until the next rank acts on it, in microseconds
 * @param nanosPerByte time a rank needs per byte that it hands on, in nanoseconds
 */
public record LinkCost(double hopMicros, double nanosPerByte) {

    /** Refuses what no machine can do. */
    public LinkCost {
        if (!(hopMicros >= 0) || !(nanosPerByte >= 0) || Double.isInfinite(hopMicros + nanosPerByte)) {
            throw new IllegalArgumentException(
                    "hop_us=" + hopMicros + " ns_per_byte=" + nanosPerByte + ": expected finite numbers from 0 up");
        }
    }
}
