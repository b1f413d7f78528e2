package io.jccl.cli.output;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ByteSizesTest {

    @ParameterizedTest
    @CsvSource({
        "8, 8",
        "0, 0",
        "1K, 1024",
        "1k, 1024",
        "64M, 67108864",
        "1.5K, 1536",
        "2G, 2147483648",
        "1T, 1099511627776",
        "4KiB, 4096",
        "4KB, 4096",
        "8B, 8",
        "' 16 M ', 16777216"
    })
    void readsNumbersWithBinarySuffixes(String text, long bytes) {
        assertThat(ByteSizes.parse(text)).isEqualTo(bytes);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "M", "-1", "8X", "1e6", "0x10", "1 2", "8MM"})
    void refusesTextsThatAreNoSizes(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ByteSizes.parse(text))
                .withMessage("size=\"" + text
                        + "\": expected a number with an optional suffix K, M, G or T, for example 64M");
    }

    @ParameterizedTest
    @ValueSource(strings = {"1.5", "0.3K", "99999999T"})
    void refusesPartsOfBytesAndHugeSizes(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ByteSizes.parse(text))
                .withMessageEndingWith("expected a whole number of bytes below 2^62");
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0 B",
        "8, 8 B",
        "1023, 1023 B",
        "1024, 1 KiB",
        "1536, 1.5 KiB",
        "67108864, 64 MiB",
        "1099511627776, 1 TiB"
    })
    void writesTheLargestUnitThatFits(long bytes, String text) {
        assertThat(ByteSizes.format(bytes)).isEqualTo(text);
    }

    @Test
    void parsesTheSizesThatItFormats() {
        for (long bytes = 1; bytes < 1L << 45; bytes *= 2) {
            assertThat(ByteSizes.parse(ByteSizes.format(bytes))).isEqualTo(bytes);
        }
    }
}
