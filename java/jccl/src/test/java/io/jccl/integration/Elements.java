package io.jccl.integration;

import io.jccl.DataType;
import io.jccl.ReduceOp;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

/**
 * Values whose reduction gives the same bits in any order, and their reduced results. Small whole numbers are exact in
 * every type. Products are of powers of two, or of integers, which wrap the same way in any order. Eight-bit floats are
 * exact for whole numbers up to 8, so only the first 8 ranks contribute to their sums and products.
 */
final class Elements {

    private Elements() {}

    /** Draws a reduction that the type supports. */
    static ReduceOp operation(Random random, DataType type) {
        List<ReduceOp> all =
                Stream.of(ReduceOp.values()).filter(op -> op.supports(type)).toList();
        return all.get(random.nextInt(all.size()));
    }

    /** Returns the value that a rank contributes at an index. Equal arguments give equal values. */
    static double value(int rank, long index, DataType type, ReduceOp op) {
        long hash = (rank + 1) * 0x9e3779b97f4a7c15L ^ (index + 3) * 0xd6e8feb86659fd93L;
        hash ^= hash >>> 32;
        hash *= 0xd6e8feb86659fd93L;
        int draw = (int) (hash >>> 40 & 0xffff);
        boolean combines = op == ReduceOp.SUM || op == ReduceOp.AVG || op == ReduceOp.PROD;
        if (combines && (type == DataType.FLOAT8_E4M3 || type == DataType.FLOAT8_E5M2)) {
            boolean takesPart = rank < 8;
            if (op == ReduceOp.PROD) {
                return takesPart ? new double[] {1, 2, -1, 0.5}[draw & 3] : 1;
            }
            return takesPart ? draw % 3 - 1 : 0;
        }
        if (op == ReduceOp.PROD) {
            return type.isFloating() ? new double[] {1, 2, -1, 0.5}[draw & 3] : 1 + (draw & 3);
        }
        boolean unsigned = !type.isFloating() && type.name().startsWith("U");
        if (unsigned && op != ReduceOp.SUM && op != ReduceOp.AVG) {
            // Some values of uint8, uint16 and uint32 exceed the largest signed value, so that a signed comparison
            // would
            // fail.
            return (double) ((draw % 251L) << Math.max(0, 8 * Math.min(4, type.bytes()) - 8));
        }
        return unsigned ? draw % 13 : draw % 13 - 6;
    }

    /** Returns the reduction of all ranks' values, before its conversion to the type. */
    static double reduced(int ranks, long index, DataType type, ReduceOp op) {
        double result = value(0, index, type, op);
        for (int rank = 1; rank < ranks; rank++) {
            double value = value(rank, index, type, op);
            result = switch (op) {
                case SUM, AVG -> result + value;
                case PROD -> result * value;
                case MIN -> Math.min(result, value);
                case MAX -> Math.max(result, value);
                case BAND -> (long) result & (long) value;
                case BOR -> (long) result | (long) value;
                case BXOR -> (long) result ^ (long) value;
            };
        }
        if (op != ReduceOp.AVG) {
            return result;
        }
        return type.isFloating() ? result / ranks : (long) result / ranks;
    }

    /** Stores a value as an element of the type, at an offset in bytes. */
    static void put(ByteBuffer bytes, int offset, DataType type, double value) {
        switch (type) {
            case INT8, UINT8 -> bytes.put(offset, (byte) (long) value);
            case INT16, UINT16 -> bytes.putShort(offset, (short) (long) value);
            case INT32, UINT32 -> bytes.putInt(offset, (int) (long) value);
            case INT64, UINT64 -> bytes.putLong(offset, (long) value);
            case FLOAT16 -> bytes.putShort(offset, half((float) value));
            case BFLOAT16 -> bytes.putShort(offset, bfloat((float) value));
            case FLOAT32 -> bytes.putFloat(offset, (float) value);
            case FLOAT64 -> bytes.putDouble(offset, value);
            case FLOAT8_E4M3 -> bytes.put(offset, float8(value, 3));
            case FLOAT8_E5M2 -> bytes.put(offset, float8(value, 2));
        }
    }

    /** Returns the bfloat16 nearest to a finite value; ties round to even. */
    static short bfloat(float value) {
        int bits = Float.floatToRawIntBits(value);
        return (short) (bits + 0x7fff + (bits >>> 16 & 1) >>> 16);
    }

    /**
     * Returns the nearest 8-bit float with {@code fractionBits} bits of fraction, ties to even; throws if out of range.
     */
    static byte float8(double value, int fractionBits) {
        int bias = (1 << (6 - fractionBits)) - 1;
        int exponent = Math.max(Math.getExponent(value), 1 - bias);
        int units = (int) Math.rint(Math.scalb(Math.abs(value), fractionBits - exponent));
        int code = units + (exponent + bias - 1 << fractionBits);
        if (code >= (fractionBits == 3 ? 0x7f : 0x7c)) {
            throw new IllegalArgumentException("value=" + value + ": outside of what this test helper converts");
        }
        return (byte) (code | (Double.doubleToRawLongBits(value) < 0 ? 0x80 : 0));
    }

    /** Returns the nearest float16, ties to even; throws unless it is zero or in the range of normal numbers. */
    static short half(float value) {
        int bits = Float.floatToRawIntBits(value);
        int sign = bits >>> 16 & 0x8000;
        if ((bits & 0x7fffffff) == 0) {
            return (short) sign;
        }
        int rebiased = (bits & 0x7fffffff) - (127 - 15 << 23);
        if (rebiased < 1 << 23 || rebiased >= 31 << 23) {
            throw new IllegalArgumentException("value=" + value + ": outside of what this test helper converts");
        }
        return (short) (sign | rebiased + 0xfff + (rebiased >>> 13 & 1) >>> 13);
    }
}
