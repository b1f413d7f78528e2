package io.jccl.tuning;

import java.util.Collections;
import java.util.List;

/**
 * The cost of sending data to the next rank. The time per byte depends on the size of the operation, because the size
 * decides into which cache its buffers fit. It is given at {@link #SIZES}, constant below the first and above the last,
 * and interpolated between them by the logarithm of the size.
 *
 * @param hopMicros time in microseconds from a rank's store until the next rank acts on it
 * @param nanosPerByte time in nanoseconds that a rank needs for each byte that it forwards, at each of {@link #SIZES}
 */
public record LinkCost(double hopMicros, List<Double> nanosPerByte) {

    /** The operation sizes in bytes at which times per byte are given. */
    public static final List<Integer> SIZES = List.of(1 << 10, 8 << 10, 64 << 10, 512 << 10, 4 << 20);

    /** Refuses negative and infinite numbers. */
    public LinkCost {
        nanosPerByte = List.copyOf(nanosPerByte);
        if (nanosPerByte.size() != SIZES.size()) {
            throw new IllegalArgumentException(
                    "ns_per_byte=" + nanosPerByte + ": expected a number for each of the sizes " + SIZES);
        }
        for (double value : nanosPerByte) {
            if (!(hopMicros >= 0) || !(value >= 0) || Double.isInfinite(hopMicros + value)) {
                throw new IllegalArgumentException(
                        "hop_us=" + hopMicros + " ns_per_byte=" + nanosPerByte + ": expected finite numbers from 0 up");
            }
        }
    }

    /** A cost with the same time per byte at all sizes. */
    public LinkCost(double hopMicros, double nanosPerByte) {
        this(hopMicros, Collections.nCopies(SIZES.size(), nanosPerByte));
    }

    /** Returns the time per byte in nanoseconds for an operation of this size. */
    public double nanosPerByte(double operationBytes) {
        double[] shares = shares(operationBytes);
        double nanos = 0;
        for (int i = 0; i < shares.length; i++) {
            nanos += shares[i] * nanosPerByte.get(i);
        }
        return nanos;
    }

    /** Returns the weight of each of {@link #SIZES} in the time per byte at a size. The weights add up to 1. */
    public static double[] shares(double operationBytes) {
        double[] shares = new double[SIZES.size()];
        int above = 0;
        while (above < shares.length && SIZES.get(above) < operationBytes) {
            above++;
        }
        if (above == 0 || above == shares.length) {
            shares[Math.min(above, shares.length - 1)] = 1;
            return shares;
        }
        double below = SIZES.get(above - 1);
        double part = Math.log(operationBytes / below) / Math.log(SIZES.get(above) / below);
        shares[above - 1] = 1 - part;
        shares[above] = part;
        return shares;
    }
}
