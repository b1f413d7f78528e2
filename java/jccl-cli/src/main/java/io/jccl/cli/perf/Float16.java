package io.jccl.cli.perf;

/**
 * Converts numbers to the two 16-bit formats, rounding to nearest with ties to even. NaN is not supported: inputs of
 * checks are never NaN.
 */
final class Float16 {

    private static final int MANTISSA_SHIFT = 13;
    private static final int MIN_NORMAL = 0x38800000; // 2^-14 as float32
    private static final int OVERFLOW = 0x47800000; // 2^16 as float32

    private Float16() {}

    /** Returns the binary16 nearest to a number. */
    static short half(float value) {
        int bits = Float.floatToRawIntBits(value);
        int sign = (bits >>> 16) & 0x8000;
        int magnitude = bits & 0x7fffffff;
        if (magnitude >= OVERFLOW) {
            return (short) (sign | 0x7c00);
        }
        if (magnitude < MIN_NORMAL) {
            // adding 0.5 moves the unit of binary16's subnormals to the last place of the sum, so that the addition
            // rounds to it
            return (short) (sign | (Float.floatToRawIntBits(Float.intBitsToFloat(magnitude) + 0.5f) - 0x3f000000));
        }
        return (short) (sign | (roundToEven(magnitude, MANTISSA_SHIFT) - (112 << 10)));
    }

    /** Returns the bfloat16 nearest to a number. */
    static short bfloat(float value) {
        int bits = Float.floatToRawIntBits(value);
        return (short) (((bits >>> 16) & 0x8000) | roundToEven(bits & 0x7fffffff, 16));
    }

    private static int roundToEven(int magnitude, int shift) {
        int odd = (magnitude >>> shift) & 1;
        return (magnitude + (1 << (shift - 1)) - 1 + odd) >>> shift;
    }
}
