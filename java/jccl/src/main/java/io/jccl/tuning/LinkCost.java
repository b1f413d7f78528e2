package io.jccl.tuning;

import java.util.Collections;
import java.util.List;

/**
 * What sending data to the next rank costs. The time per byte depends on how large the operation is, because that
 * decides which cache its buffers fit into: it is given at the sizes {@link #SIZES}, holds evenly below the first and
 * above the last, and changes in proportion to the logarithm of the size between them.
 *
 * @param hopMicros from a rank's store until the next rank acts on it, in microseconds
 * @param nanosPerByte time a rank needs per byte that it forwards, in nanoseconds, at each of {@link #SIZES}
 */
public record LinkCost(double hopMicros, List<Double> nanosPerByte) {

    /** The operation sizes in bytes that times per byte are given at. */
    public static final List<Integer> SIZES = List.of(1 << 10, 8 << 10, 64 << 10, 512 << 10, 4 << 20);

    /** Refuses what no host can do. */
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

    /** The time per byte in an operation of so many bytes, in nanoseconds. */
    public double nanosPerByte(double operationBytes) {
        double[] shares = shares(operationBytes);
        double nanos = 0;
        for (int i = 0; i < shares.length; i++) {
            nanos += shares[i] * nanosPerByte.get(i);
        }
        return nanos;
    }

    /** What share each of {@link #SIZES} has in the time per byte at a size; they sum up to 1. */
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
