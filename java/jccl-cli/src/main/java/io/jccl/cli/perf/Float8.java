package io.jccl.cli.perf;

/**
 * The two 8-bit formats, with conversions that round to nearest with ties to even. NaN is not supported: inputs of
 * checks are never NaN. Numbers beyond the largest one become the largest one; neither format produces infinities.
 */
enum Float8 {
    /** 4 bits of exponent, 3 of fraction: up to 448. */
    E4M3(3, 0x7e),
    /** 5 bits of exponent, 2 of fraction: up to 57344. */
    E5M2(2, 0x7b);

    private final int mantissaBits;
    private final int largest; // the code of the largest number
    private final int bias;

    Float8(int mantissaBits, int largest) {
        this.mantissaBits = mantissaBits;
        this.largest = largest;
        this.bias = (1 << (6 - mantissaBits)) - 1;
    }

    /** Returns the number of bits of the fraction. */
    int mantissaBits() {
        return mantissaBits;
    }

    /** Returns the code of the number that is nearest to {@code value}. */
    byte encode(float value) {
        int sign = (Float.floatToRawIntBits(value) >>> 24) & 0x80;
        float magnitude = Math.min(Math.abs(value), decode((byte) largest));
        // a number is a multiple of the unit of its binade; the lowest binade has the same unit as the subnormals
        int binade = Math.max(Math.getExponent(magnitude), 1 - bias);
        int units = (int) Math.rint(Math.scalb(magnitude, mantissaBits - binade));
        return (byte) (sign | (units + ((binade + bias - 1) << mantissaBits)));
    }

    /** Returns the number of a code that is neither infinite nor NaN. */
    float decode(byte code) {
        int exponent = (code & 0x7f) >> mantissaBits;
        int fraction = code & ((1 << mantissaBits) - 1);
        int units = exponent == 0 ? fraction : fraction + (1 << mantissaBits);
        float magnitude = Math.scalb((float) units, Math.max(exponent, 1) - bias - mantissaBits);
        return code < 0 ? -magnitude : magnitude;
    }
}
