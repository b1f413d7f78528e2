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
     * 8-bit float of the Open Compute Project: 4 bits of exponent, 3 of fraction, up to 448, no infinities, NaN only as 0x7f
     * and 0xff. Sums are computed in float32 and saturate where they are stored: what is too large or infinite becomes the
     * largest number with its sign.
     */
    FLOAT8_E4M3(1, true),
    /**
     * 8-bit float of the Open Compute Project: 5 bits of exponent, 2 of fraction, up to 57344; the upper half of an IEEE 754
     * binary16. Sums are computed in float32 and saturate as those of {@link #FLOAT8_E4M3}; reductions keep NaNs but no
     * infinities.
     */
    FLOAT8_E5M2(1, true);

    private final int bytes;
    private final boolean floating;

    DataType(int bytes, boolean floating) {
        this.bytes = bytes;
        this.floating = floating;
    }

    /** The size of one element in bytes. */
    public int bytes() {
        return bytes;
    }

    /** Whether elements are floating-point numbers. */
    public boolean isFloating() {
        return floating;
    }

    /** The name used by the command and in messages, for example {@code float32}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * The type of a name as the command spells it.
     *
     * @param label for example {@code float32}
     * @throws IllegalArgumentException if no type has this name
     */
    public static DataType parse(String label) {
        return Names.parse(DataType.class, "type", label);
    }
}
