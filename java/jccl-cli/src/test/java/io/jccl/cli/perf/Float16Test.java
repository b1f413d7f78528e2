package io.jccl.cli.perf;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class Float16Test {

    @ParameterizedTest
    @CsvSource({
        "0, 0000",
        "-0, 8000",
        "1, 3c00",
        "-2, c000",
        "65504, 7bff",
        "65520, 7c00",
        "70000, 7c00",
        "-1e9, fc00",
        "2048, 6800",
        "2049, 6800",
        "2051, 6802", // ties go to the even neighbour
        "6.1035156e-5, 0400",
        "5.9604645e-8, 0001",
        "2.9802322e-8, 0000",
        "8.940697e-8, 0002"
    })
    void halfRoundsToNearestEven(float value, String bits) {
        assertThat(String.format("%04x", Float16.half(value) & 0xffff)).isEqualTo(bits);
    }

    @ParameterizedTest
    @CsvSource({"0, 0000", "1, 3f80", "-2, c000", "256, 4380", "257, 4380", "259, 4382", "3.4028235e38, 7f80"})
    void bfloatRoundsToNearestEven(float value, String bits) {
        assertThat(String.format("%04x", Float16.bfloat(value) & 0xffff)).isEqualTo(bits);
    }

    @Test
    void everyWholeNumberUpTo2048IsExactInHalf() {
        for (int i = 0; i <= 2048; i++) {
            int bits = Float16.half(i) & 0x7fff;
            double value = bits == 0 ? 0 : Math.scalb(1024.0 + (bits & 1023), (bits >> 10) - 25);
            assertThat(value).isEqualTo(i);
        }
    }
}
