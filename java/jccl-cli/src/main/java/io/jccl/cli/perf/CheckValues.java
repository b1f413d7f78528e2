package io.jccl.cli.perf;

import io.jccl.DataType;
import io.jccl.ReduceOp;

/**
 * Computes the inputs and expected results of checks. Inputs are chosen so that combining them is exact in every order.
 * So any difference in a result is an error, and never rounding.
 *
 * <table>
 * <caption>inputs by type and operation</caption>
 * <tr><th></th><th>integers</th><th>floating point</th></tr>
 * <tr><td>SUM</td><td>any bits: sums wrap around</td><td>small whole numbers with a sum exact in the type</td></tr>
 * <tr><td>PROD</td><td>any odd number: products wrap around</td><td>powers of two with signs</td></tr>
 * <tr><td>MIN, MAX</td><td>any bits</td><td>any finite number</td></tr>
 * <tr><td>BAND, BOR, BXOR</td><td>any bits</td><td>not supported</td></tr>
 * <tr><td>AVG</td><td>sum does not wrap; average truncated towards zero</td><td>as SUM; one rounded division</td></tr>
 * </table>
 */
final class CheckValues {

    private final DataType type;
    private final ReduceOp op;
    private final int ranks;
    private final int bitsOfType;

    CheckValues(DataType type, ReduceOp op, int ranks) {
        this.type = type;
        this.op = op;
        this.ranks = ranks;
        this.bitsOfType = type.bytes() * 8;
    }

    /** Returns arbitrary bits, for operations that only move elements. */
    static long moved(int rank, int index) {
        return mix(rank, index);
    }

    /**
     * Returns a number whose sums and products depend on the order in which ranks are combined; floating types only.
     */
    long inexact(int rank, int index) {
        long random = mix(rank + 7919, index);
        int mantissa = mantissaBits(type);
        long oneTo2 = ((1L << (bitsOfType - 2 - mantissa)) - 1) << mantissa;
        return (random & signBit()) | oneTo2 | (random & ((1L << mantissa) - 1));
    }

    /** Returns the bits of the element that a rank contributes to a reduction. */
    long input(int rank, int index) {
        long random = mix(rank, index);
        if (!type.isFloating()) {
            return switch (op) {
                case SUM, MIN, MAX, BAND, BOR, BXOR -> random;
                case PROD -> random | 1;
                case AVG -> bounded(random, integerLimit());
            };
        }
        return switch (op) {
            case SUM, AVG -> encode(
                    rank < exactLimit() ? bounded(random, exactLimit() / Math.min(ranks, exactLimit())) : 0);
            case PROD -> encode(powerOfTwo(rank, index, random));
            case MIN, MAX -> finite(random);
            case BAND, BOR, BXOR -> throw notOfFloats();
        };
    }

    /** Returns the bits of the reduction of all ranks' inputs. */
    long result(int index) {
        return result(ranks, index);
    }

    /** Returns the bits of the reduction of the inputs of the lowest ranks. */
    long result(int lowest, int index) {
        return type.isFloating() ? encodeResult(lowest, index) : integerResult(lowest, index);
    }

    private long integerResult(int lowest, int index) {
        long result = extend(input(0, index));
        for (int rank = 1; rank < lowest; rank++) {
            long value = extend(input(rank, index));
            result = switch (op) {
                case SUM, AVG -> result + value;
                case PROD -> result * value;
                case MIN -> compare(value, result) < 0 ? value : result;
                case MAX -> compare(value, result) > 0 ? value : result;
                case BAND -> result & value;
                case BOR -> result | value;
                case BXOR -> result ^ value;
            };
        }
        return op == ReduceOp.AVG ? result / lowest : result;
    }

    private long encodeResult(int lowest, int index) {
        double result = decode(input(0, index));
        for (int rank = 1; rank < lowest; rank++) {
            double value = decode(input(rank, index));
            result = switch (op) {
                case SUM, AVG -> result + value;
                case PROD -> result * value;
                case MIN -> Math.min(result, value);
                case MAX -> Math.max(result, value);
                case BAND, BOR, BXOR -> throw notOfFloats();
            };
        }
        if (op != ReduceOp.AVG) {
            return encode(result);
        }
        // the library divides in float32, or for FLOAT64 in float64, and then rounds to the type
        return encode(type == DataType.FLOAT64 ? result / lowest : (float) result / lowest);
    }

    private IllegalStateException notOfFloats() {
        return new IllegalStateException("op=" + op + " type=" + type + ": combines the bits of integers only");
    }

    private double powerOfTwo(int rank, int index, long random) {
        int exponent = rank < maxPowers() ? (index + rank) % 3 - 1 : 0;
        return Math.scalb((random & 1) == 0 ? 1.0 : -1.0, exponent);
    }

    /**
     * Returns the number of ranks that contribute powers of two; further ranks contribute 1 or -1. With this number,
     * partial products stay within 2^±14, or for e4m3 within 2^±8, which the type can represent.
     */
    private int maxPowers() {
        return type == DataType.FLOAT8_E4M3 ? 24 : 42;
    }

    /** Returns a whole number whose magnitude is at most the limit; not negative for unsigned types. */
    private long bounded(long random, long limit) {
        if (isUnsigned()) {
            return limit == Long.MAX_VALUE ? random >>> 1 : Long.remainderUnsigned(random, limit + 1);
        }
        long magnitude = limit == Long.MAX_VALUE ? random >>> 1 : (random >>> 1) % (limit + 1);
        return (random & 1) == 0 ? magnitude : -magnitude;
    }

    /**
     * Returns the largest magnitude of integer inputs whose sum over all ranks does not wrap. For uint64 the sum stays
     * within a signed long, because AVG divides it as such.
     */
    private long integerLimit() {
        return ((1L << (bitsOfType - (isUnsigned() && bitsOfType < 64 ? 0 : 1))) - 1) / ranks;
    }

    /** Returns the number up to which a floating type represents every whole number exactly. */
    private long exactLimit() {
        return 1L << (mantissaBits(type) + 1);
    }

    /** Returns the bits with an exponent that belongs neither to infinities and NaNs nor to zeros and subnormals. */
    private long finite(long random) {
        int mantissa = mantissaBits(type);
        return (random & ~(1L << mantissa)) | (2L << mantissa);
    }

    private long encode(double value) {
        return switch (type) {
            case FLOAT16 -> Float16.half((float) value);
            case BFLOAT16 -> Float16.bfloat((float) value);
            case FLOAT32 -> Float.floatToRawIntBits((float) value);
            case FLOAT64 -> Double.doubleToRawLongBits(value);
            case FLOAT8_E4M3 -> Float8.E4M3.encode((float) value);
            case FLOAT8_E5M2 -> Float8.E5M2.encode((float) value);
            default -> throw new IllegalStateException("type=" + type + ": not a floating type");
        };
    }

    private double decode(long bits) {
        return switch (type) {
            case FLOAT16 -> halfValue((int) bits & 0xffff);
            case BFLOAT16 -> Float.intBitsToFloat((int) bits << 16);
            case FLOAT32 -> Float.intBitsToFloat((int) bits);
            case FLOAT64 -> Double.longBitsToDouble(bits);
            case FLOAT8_E4M3 -> Float8.E4M3.decode((byte) bits);
            case FLOAT8_E5M2 -> Float8.E5M2.decode((byte) bits);
            default -> throw new IllegalStateException("type=" + type + ": not a floating type");
        };
    }

    private static double halfValue(int bits) {
        int exponent = (bits >> 10) & 31;
        int mantissa = bits & 1023;
        double magnitude =
                exponent == 0 ? Math.scalb((double) mantissa, -24) : Math.scalb(1024.0 + mantissa, exponent - 25);
        return (bits & 0x8000) == 0 ? magnitude : -magnitude;
    }

    private int compare(long a, long b) {
        return isUnsigned() ? Long.compareUnsigned(a, b) : Long.compare(a, b);
    }

    /** Returns an integer element's bits, extended to 64 bits by its sign or by zeros. */
    private long extend(long bits) {
        int shift = 64 - bitsOfType;
        return isUnsigned() ? bits << shift >>> shift : bits << shift >> shift;
    }

    private long signBit() {
        return 1L << (bitsOfType - 1);
    }

    private boolean isUnsigned() {
        return switch (type) {
            case UINT8, UINT16, UINT32, UINT64 -> true;
            default -> false;
        };
    }

    private static int mantissaBits(DataType type) {
        return switch (type) {
            case FLOAT16 -> 10;
            case BFLOAT16 -> 7;
            case FLOAT32 -> 23;
            case FLOAT64 -> 52;
            case FLOAT8_E4M3 -> Float8.E4M3.mantissaBits();
            case FLOAT8_E5M2 -> Float8.E5M2.mantissaBits();
            default -> throw new IllegalStateException("type=" + type + ": not a floating type");
        };
    }

    /** Returns well-mixed bits for a rank and an index. */
    private static long mix(int rank, int index) {
        long z = (index + 1) * 0x9E3779B97F4A7C15L + (rank + 1) * 0xC2B2AE3D27D4EB4FL;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }
}
