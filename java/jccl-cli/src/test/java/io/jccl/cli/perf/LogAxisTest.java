package io.jccl.cli.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LogAxisTest {

    private static List<String> labels(LogAxis axis) {
        return axis.ticks().stream()
                .map(LogAxis.Tick::label)
                .filter(label -> !label.isEmpty())
                .toList();
    }

    @Test
    void sizesHaveATickAtEachPowerOfTwoAndAFewLabels() {
        LogAxis axis = LogAxis.ofSizes(new long[] {8, 1 << 26}, 0, 100);
        assertThat(axis.ticks()).hasSize(24);
        assertThat(labels(axis)).containsExactly("8 B", "128 B", "2 KiB", "32 KiB", "512 KiB", "8 MiB");
        assertThat(axis.at(8)).isZero();
        assertThat(axis.at(1 << 26)).isCloseTo(100, within(1e-9));
        assertThat(axis.at(1 << 14)).isCloseTo(100.0 * 11 / 23, within(1e-9));
    }

    @Test
    void sizesBetweenPowersOfTwoAreWithinTheAxis() {
        LogAxis axis = LogAxis.ofSizes(new long[] {3000, 12}, 50, 150);
        assertThat(labels(axis)).first().isEqualTo("8 B");
        assertThat(axis.at(12)).isBetween(50.0, 150.0);
        assertThat(axis.at(3000)).isBetween(50.0, 150.0);
    }

    @Test
    void aSingleSizeOrValueIsInsideItsAxis() {
        assertThat(LogAxis.ofSizes(new long[] {1}, 0, 100).at(1)).isBetween(0.0, 100.0);
        assertThat(LogAxis.ofSizes(new long[] {1024}, 0, 100).at(1024)).isBetween(0.0, 100.0);
        assertThat(LogAxis.ofValues(new double[] {5}, 0, 100).at(5)).isBetween(0.0, 100.0);
    }

    @ParameterizedTest
    @CsvSource({
        "0.7, 14, 0.5 1 2 5 10 20",
        "1, 10, 1 2 5 10",
        "100, 101, 100 200",
        "0.0003, 0.004, 0.0002 0.0005 0.001 0.002 0.005",
        "0.3, 99000, 1 10 100 1000 10000 100000"
    })
    void valuesHaveRoundLabels(double min, double max, String expected) {
        LogAxis axis = LogAxis.ofValues(new double[] {max, min}, 0, 1);
        assertThat(labels(axis)).containsExactly(expected.split(" "));
        assertThat(axis.at(min)).isBetween(-1e-9, 1.0);
        assertThat(axis.at(max)).isBetween(0.0, 1 + 1e-9);
    }
}
