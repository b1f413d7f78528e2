package io.jccl;

import java.util.Locale;

/** The type of the elements of a {@link DataBuffer}. The order of the constants is part of the native interface. */
public enum DataType {
    /** Signed 8-bit integer. */
    INT8(1, false),
    /** Unsigned 8-bit integer. */
    UINT8(1, false),
    /** Signed 32-bit integer. */
    INT32(4, false),
    /** Unsigned 32-bit integer. */
    UINT32(4, false),
    /** Signed 64-bit integer. */
    INT64(8, false),
    /** Unsigned 64-bit integer. */
    UINT64(8, false),
    /** IEEE 754 binary16; sums are computed in float32. */
    FLOAT16(2, true),
    /** The upper half of an IEEE 754 binary32; sums are computed in float32. */
    BFLOAT16(2, true),
    /** IEEE 754 binary32. */
    FLOAT32(4, true),
    /** IEEE 754 binary64. */
    FLOAT64(8, true),
    /**
     * 8-bit float of the Open Compute Project: 4 bits of exponent, 3 of fraction. The largest number is 448; there are
     * no infinities, and only 0x7f and 0xff are NaNs. Sums are computed in float32. Storing a sum saturates: a value
     * that is too large or infinite becomes the largest number with its sign.
     */
    FLOAT8_E4M3(1, true),
    /**
     * 8-bit float of the Open Compute Project: 5 bits of exponent, 2 of fraction; the upper half of an IEEE 754
     * binary16. The largest number is 57344. Sums are computed in float32 and saturate like those of {@link
     * #FLOAT8_E4M3}. Reductions keep NaNs but no infinities.
     */
    FLOAT8_E5M2(1, true),
    /** Signed 16-bit integer. */
    INT16(2, false),
    /** Unsigned 16-bit integer, for example Java's {@code char}. */
    UINT16(2, false);

    private final int bytes;
    private final boolean floating;

    DataType(int bytes, boolean floating) {
        this.bytes = bytes;
        this.floating = floating;
    }

    /** Returns the size of one element in bytes. */
    public int bytes() {
        return bytes;
    }

    /** Returns true if elements are floating-point numbers. */
    public boolean isFloating() {
        return floating;
    }

    /** Returns the name that the command and messages use, for example {@code float32}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * Returns the type with a name as the command spells it.
     *
     * @param label for example {@code float32}
     * @throws IllegalArgumentException if no type has this name
     */
    public static DataType parse(String label) {
        return Names.parse(DataType.class, "type", label);
    }
}
