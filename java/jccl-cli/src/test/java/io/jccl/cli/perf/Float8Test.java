package io.jccl.cli.perf;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class Float8Test {

    @ParameterizedTest
    @CsvSource({
        "0, 00",
        "-0, 80",
        "1, 38",
        "-2, c0",
        "448, 7e",
        "464, 7e",
        "500, 7e", // saturates
        "-1e9, fe",
        "16, 58",
        "17, 58",
        "19, 5a", // ties go to the even neighbour
        "0.015625, 08",
        "0.001953125, 01",
        "0.0009765625, 00",
        "0.0029296875, 02",
        "0.0146484375, 08" // half a unit below the smallest normal number
    })
    void e4m3RoundsToNearestEven(float value, String bits) {
        assertThat(String.format("%02x", Float8.E4M3.encode(value) & 0xff)).isEqualTo(bits);
    }

    @ParameterizedTest
    @CsvSource({
        "0, 00",
        "-0, 80",
        "1, 3c",
        "-2, c0",
        "57344, 7b",
        "61440, 7b",
        "-1e9, fb",
        "8, 48",
        "9, 48",
        "11, 4a",
        "6.1035156e-5, 04",
        "1.5258789e-5, 01",
        "7.6293945e-6, 00"
    })
    void e5m2RoundsToNearestEven(float value, String bits) {
        assertThat(String.format("%02x", Float8.E5M2.encode(value) & 0xff)).isEqualTo(bits);
    }

    @ParameterizedTest
    @EnumSource
    void everyNumberIsEncodedAsItsCodeAndGrowsWithIt(Float8 format) {
        int largest = format == Float8.E4M3 ? 0x7e : 0x7b;
        for (int code = 0; code <= largest; code++) {
            assertThat(format.encode(format.decode((byte) code)) & 0xff).isEqualTo(code);
            assertThat(format.encode(format.decode((byte) (code | 0x80))) & 0xff)
                    .isEqualTo(code | 0x80);
            assertThat(code == 0 || format.decode((byte) code) > format.decode((byte) (code - 1)))
                    .isTrue();
        }
    }

    @Test
    void wholeNumbersThatFitTheMantissaAreExact() {
        for (int i = -16; i <= 16; i++) {
            assertThat(Float8.E4M3.decode(Float8.E4M3.encode(i))).isEqualTo(i);
        }
        for (int i = -8; i <= 8; i++) {
            assertThat(Float8.E5M2.decode(Float8.E5M2.encode(i))).isEqualTo(i);
        }
    }
}
