package io.jccl.cli.perf;

import io.jccl.cli.output.ByteSizes;
import java.util.ArrayList;
import java.util.List;

/**
 * The sizes to measure: from a smallest to a largest, growing by a factor or by a step.
 *
 * @param minBytes the smallest size
 * @param maxBytes upper limit of the sizes
 * @param factor factor between two sizes, at least 2, or 0 if sizes grow by a step
 * @param stepBytes bytes between two sizes, at least 1, or 0 if sizes grow by a factor
 */
record SizeLadder(long minBytes, long maxBytes, int factor, long stepBytes) {

    private static final int MAX_SIZES = 100_000;

    SizeLadder {
        if (minBytes < 1 || maxBytes < minBytes) {
            throw new IllegalArgumentException(
                    "min=" + minBytes + " max=" + maxBytes + ": expected 1 <= min <= max; set them with -b and -e");
        }
        if (stepBytes == 0 && factor < 2) {
            throw new IllegalArgumentException(
                    "factor=" + factor + ": expected at least 2; or use -i for a fixed step");
        }
        if (stepBytes < 0) {
            throw new IllegalArgumentException("step=" + stepBytes + ": expected at least 1 byte");
        }
        if (stepBytes > 0 && (maxBytes - minBytes) / stepBytes >= MAX_SIZES) {
            throw new IllegalArgumentException("step=" + ByteSizes.format(stepBytes) + ": gives more than " + MAX_SIZES
                    + " sizes; raise -i or lower -e");
        }
    }

    /** Returns the sizes in ascending order. */
    List<Long> sizes() {
        List<Long> sizes = new ArrayList<>();
        long size = minBytes;
        while (size <= maxBytes) {
            sizes.add(size);
            if (stepBytes > 0) {
                size += stepBytes;
            } else if (size > maxBytes / factor) {
                break;
            } else {
                size *= factor;
            }
        }
        return sizes;
    }
}
