package io.jccl.cli.perf;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.DataType;
import io.jccl.ReduceOp;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class CheckValuesTest {

    private static final int SAMPLES = 200;

    static Stream<Arguments> floatingTypesAndOperations() {
        return Arrays.stream(DataType.values()).filter(DataType::isFloating).flatMap(type -> Stream.of(
                        ReduceOp.values())
                .filter(op -> op.supports(type))
                .flatMap(op -> Stream.of(1, 2, 3, 8, 64).map(ranks -> Arguments.of(type, op, ranks))));
    }

    /**
     * The checks of {@code jccl perf} rely on this property: values can be combined in any order, with rounding at
     * every step, and the result is the same.
     */
    @ParameterizedTest
    @MethodSource("floatingTypesAndOperations")
    void everyOrderOfCombiningIsExact(DataType type, ReduceOp op, int ranks) {
        CheckValues values = new CheckValues(type, op, ranks);
        List<Integer> order = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            order.add(rank);
        }
        Random random = new Random(1);
        for (int i = 0; i < SAMPLES; i++) {
            java.util.Collections.shuffle(order, random);
            long folded = values.input(order.get(0), i);
            for (int k = 1; k < ranks; k++) {
                folded = combine(type, op, folded, values.input(order.get(k), i));
            }
            if (op == ReduceOp.AVG) {
                folded = divide(type, folded, ranks);
            }
            assertThat(mask(type, values.result(i)))
                    .as("index %d order %s", i, order)
                    .isEqualTo(mask(type, folded));
        }
    }

    private static long combine(DataType type, ReduceOp op, long a, long b) {
        double x = decode(type, a);
        double y = decode(type, b);
        double result =
                switch (op) {
                    case SUM, AVG -> x + y;
                    case PROD -> x * y;
                    case MIN -> Math.min(x, y);
                    case MAX -> Math.max(x, y);
                    case BAND, BOR, BXOR -> throw new AssertionError(op);
                };
        return encode(type, result);
    }

    private static long divide(DataType type, long sum, int ranks) {
        double value = decode(type, sum);
        return encode(type, type == DataType.FLOAT64 ? value / ranks : (float) value / ranks);
    }

    private static double decode(DataType type, long bits) {
        return switch (type) {
            case FLOAT16 -> half((int) bits & 0xffff);
            case BFLOAT16 -> Float.intBitsToFloat((int) bits << 16);
            case FLOAT32 -> Float.intBitsToFloat((int) bits);
            case FLOAT8_E4M3 -> Float8.E4M3.decode((byte) bits);
            case FLOAT8_E5M2 -> Float8.E5M2.decode((byte) bits);
            default -> Double.longBitsToDouble(bits);
        };
    }

    private static double half(int bits) {
        int exponent = bits >> 10 & 31;
        double magnitude =
                exponent == 0 ? (bits & 1023) * 0x1p-24 : (1024 + (bits & 1023)) * Math.pow(2, exponent - 25);
        return bits < 0x8000 ? magnitude : -magnitude;
    }

    private static long encode(DataType type, double value) {
        return switch (type) {
            case FLOAT16 -> Float16.half((float) value);
            case BFLOAT16 -> Float16.bfloat((float) value);
            case FLOAT32 -> Float.floatToRawIntBits((float) value);
            case FLOAT8_E4M3 -> Float8.E4M3.encode((float) value);
            case FLOAT8_E5M2 -> Float8.E5M2.encode((float) value);
            default -> Double.doubleToRawLongBits(value);
        };
    }

    private static long mask(DataType type, long bits) {
        return type.bytes() == 8 ? bits : bits & (1L << type.bytes() * 8) - 1;
    }

    static Stream<Arguments> integerTypesAndOperations() {
        return Arrays.stream(DataType.values())
                .filter(type -> !type.isFloating())
                .flatMap(type -> Stream.of(ReduceOp.values())
                        .flatMap(op -> Stream.of(1, 2, 5, 8, 300).map(ranks -> Arguments.of(type, op, ranks))));
    }

    @ParameterizedTest
    @MethodSource("integerTypesAndOperations")
    void integerResultsEqualThoseOfUnboundedArithmetic(DataType type, ReduceOp op, int ranks) {
        CheckValues values = new CheckValues(type, op, ranks);
        for (int i = 0; i < SAMPLES; i++) {
            BigInteger result = value(type, values.input(0, i));
            for (int rank = 1; rank < ranks; rank++) {
                BigInteger next = value(type, values.input(rank, i));
                result = switch (op) {
                    case SUM, AVG -> result.add(next);
                    case PROD -> result.multiply(next);
                    case MIN -> result.min(next);
                    case MAX -> result.max(next);
                    case BAND -> result.and(next);
                    case BOR -> result.or(next);
                    case BXOR -> result.xor(next);
                };
            }
            if (op == ReduceOp.AVG) {
                assertThat(value(type, result.longValue()))
                        .as("the sum does not wrap")
                        .isEqualTo(result);
                result = result.divide(BigInteger.valueOf(ranks)); // truncates towards zero
            }
            assertThat(mask(type, values.result(i))).isEqualTo(mask(type, result.longValue()));
        }
    }

    private static BigInteger value(DataType type, long bits) {
        int width = type.bytes() * 8;
        BigInteger unsigned = new BigInteger(Long.toUnsignedString(mask(type, bits)));
        boolean signed = type.name().startsWith("INT");
        return signed && unsigned.testBit(width - 1) ? unsigned.subtract(BigInteger.ONE.shiftLeft(width)) : unsigned;
    }

    @Test
    void unsignedInputsUseTheTopBit() {
        CheckValues values = new CheckValues(DataType.UINT32, ReduceOp.MAX, 2);
        assertThat(Stream.iterate(0, i -> i + 1).limit(SAMPLES).map(i -> values.input(0, i) & 0x80000000L))
                .contains(0L, 0x80000000L);
    }

    @Test
    void valuesDifferBetweenRanksAndPlaces() {
        CheckValues values = new CheckValues(DataType.FLOAT32, ReduceOp.SUM, 4);
        assertThat(Stream.iterate(0, i -> i + 1)
                        .limit(SAMPLES)
                        .map(i -> values.input(0, i))
                        .distinct()
                        .count())
                .isGreaterThan(SAMPLES / 2);
        assertThat(values.input(0, 1)).isNotEqualTo(values.input(1, 1));
    }

    @Test
    void inexactInputsAreFiniteAndDependOnTheOrder() {
        CheckValues values = new CheckValues(DataType.FLOAT32, ReduceOp.SUM, 3);
        int differing = 0;
        for (int i = 0; i < SAMPLES; i++) {
            float a = Float.intBitsToFloat((int) values.inexact(0, i));
            float b = Float.intBitsToFloat((int) values.inexact(1, i));
            float c = Float.intBitsToFloat((int) values.inexact(2, i));
            assertThat(Math.abs(a)).isBetween(1f, 2f);
            differing += (a + b) + c != a + (b + c) ? 1 : 0;
        }
        assertThat(differing).isPositive();
    }
}
