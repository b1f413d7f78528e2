package io.jccl;

import io.jccl.internal.Arguments;
import java.util.Locale;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The format in which the elements of an operation travel between hosts. All formats except {@link #EXACT} move fewer
 * bytes and round the elements. They apply to float32 and float64, in all-reduces, reduce-scatters, all-gathers and
 * broadcasts on host memory. Data within a host is never rounded, so on one host every format is exact.
 *
 * <p>Each time that data leaves a host, it is narrowed; the receiver widens it and adds to it in the type of the
 * buffers. A result that several ranks receive is rounded once more, at its owner too, so that all ranks end with the
 * same bits: the root of a broadcast and the ranks of an all-gather also get their own elements rounded. The same inputs
 * and seeds give the same bits again. float64 is first rounded to float32.
 *
 * <p>{@link #INT8_BLOCK} and {@link #FLOAT8_BLOCK} divide a buffer into blocks of 128 elements, counted from its start,
 * each with a scale that follows from its largest element. So a huge element costs its block the small ones.
 *
 * <pre>{@code
 * comm.allReduce(gradients, ReduceOp.AVG, WireFormat.INT8_BLOCK.stochastic(step));
 * }</pre>
 *
 * <p>Immutable.
 */
public final class WireFormat {

    /** How elements are encoded. */
    public enum Encoding {
        /** As they are. */
        EXACT,
        /** The upper half of a float32: 8 significant bits, the range of float32. */
        BFLOAT16,
        /** IEEE 754 binary16: 11 significant bits. Magnitudes from 65520 on become infinite. */
        FLOAT16,
        /** 8-bit floats (e4m3, 4 significant bits) and a power of two for each block. */
        FLOAT8_BLOCK,
        /** Integers from -127 to 127 and a scale for each block. */
        INT8_BLOCK
    }

    /** The number of elements in a block. */
    public static final int BLOCK = 128;

    /** Elements travel as they are. */
    public static final WireFormat EXACT = new WireFormat(Encoding.EXACT, null);

    /** Rounds to bfloat16: half of the bytes of float32. */
    public static final WireFormat BFLOAT16 = new WireFormat(Encoding.BFLOAT16, null);

    /** Rounds to float16: half of the bytes of float32. */
    public static final WireFormat FLOAT16 = new WireFormat(Encoding.FLOAT16, null);

    /** Rounds to 8-bit floats with a scale for each block: 132 bytes for 128 elements. */
    public static final WireFormat FLOAT8_BLOCK = new WireFormat(Encoding.FLOAT8_BLOCK, null);

    /** Rounds to 8-bit integers with a scale for each block: 132 bytes for 128 elements. */
    public static final WireFormat INT8_BLOCK = new WireFormat(Encoding.INT8_BLOCK, null);

    private static final String EXPECTED =
            "one of exact, bfloat16, float16, float8_block and int8_block; all but the first can end in :seed=N";

    private static final String SEED = ":seed=";

    private static final double SMALLEST_SCALE = 0x1p-126;

    private final Encoding encoding;
    private final @Nullable Long seed; // null: rounds to nearest

    private WireFormat(Encoding encoding, @Nullable Long seed) {
        this.encoding = encoding;
        this.seed = seed;
    }

    /**
     * Returns this format with stochastic rounding: an element is rounded up or down at random, such that its expected
     * value is the element. Over many operations the errors cancel out. Pass another seed for each operation. Ranks may
     * pass different seeds, and draw different numbers even with the same seed.
     *
     * @param seed decides the random numbers
     * @throws IllegalArgumentException if this format is {@link #EXACT}
     */
    public WireFormat stochastic(long seed) {
        if (encoding == Encoding.EXACT) {
            throw new IllegalArgumentException("format=exact seed=" + seed + ": expected a format that rounds");
        }
        return new WireFormat(encoding, seed);
    }

    /** Returns how elements are encoded. */
    public Encoding encoding() {
        return encoding;
    }

    /** Returns true if elements are rounded at random, and false if to nearest, ties to even. */
    public boolean isStochastic() {
        return seed != null;
    }

    /** Returns the seed of stochastic rounding; 0 if this format rounds to nearest. */
    public long seed() {
        return seed == null ? 0 : seed;
    }

    /** Returns true if operations can round elements of the type: float32 and float64. */
    public static boolean supports(DataType type) {
        return type == DataType.FLOAT32 || type == DataType.FLOAT64;
    }

    /**
     * Returns the largest error of one rounding of a finite element. Where the ranks of each host are neighbours, an
     * element of a sum over {@code h} hosts is rounded at most {@code h} times as a partial sum, and once as the result.
     *
     * @param value the element, within the range of float32; for {@link #FLOAT16} at most 65504
     * @param largest the largest finite magnitude of the element's block
     */
    public double errorBound(double value, double largest) {
        double magnitude = Math.abs(value);
        double nearest =
                switch (encoding) {
                    case EXACT -> 0;
                    case BFLOAT16 -> Math.max(magnitude * 0x1p-8, 0x1p-134);
                    case FLOAT16 -> Math.max(magnitude * 0x1p-11, 0x1p-25);
                    case FLOAT8_BLOCK -> Math.max(magnitude * 0x1p-4, Math.max(largest * 0x1p-17, SMALLEST_SCALE / 2));
                    case INT8_BLOCK -> Math.max(largest / 250, SMALLEST_SCALE / 2);
                };
        double conversion = encoding == Encoding.EXACT ? 0 : Math.ulp((float) magnitude); // of float64 to float32
        return nearest * (seed == null ? 1 : 2) + conversion;
    }

    /**
     * Returns the format with a name, for example {@code int8_block} or {@code int8_block:seed=42}.
     *
     * @throws IllegalArgumentException if no format has this name
     */
    public static WireFormat parse(String text) {
        String name = Arguments.required("wireFormat", text, EXPECTED).strip().toLowerCase(Locale.ROOT);
        Matcher matcher =
                Pattern.compile("([a-z0-9_]+)(?:" + SEED + "(-?\\d{1,18}))?").matcher(name);
        if (matcher.matches()) {
            for (Encoding encoding : Encoding.values()) {
                if (encoding.name().toLowerCase(Locale.ROOT).equals(matcher.group(1))
                        && (encoding != Encoding.EXACT || matcher.group(2) == null)) {
                    return new WireFormat(encoding, matcher.group(2) == null ? null : Long.valueOf(matcher.group(2)));
                }
            }
        }
        throw new IllegalArgumentException("wireFormat=\"" + text + "\": expected " + EXPECTED);
    }

    /** Returns the name that {@link #parse} reads. */
    @Override
    public String toString() {
        return encoding.name().toLowerCase(Locale.ROOT) + (seed == null ? "" : SEED + seed);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof WireFormat format && format.encoding == encoding && Objects.equals(format.seed, seed);
    }

    @Override
    public int hashCode() {
        return Objects.hash(encoding, seed);
    }
}
