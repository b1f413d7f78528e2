package io.jccl.cli.topo;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class NumbersTest {

    @Test
    void bandwidthsHaveNoUselessDecimals() {
        assertThat(Numbers.bandwidth(24)).isEqualTo("24");
        assertThat(Numbers.bandwidth(12.5)).isEqualTo("12.5");
        assertThat(Numbers.bandwidth(0.125)).isEqualTo("0.13");
        assertThat(Numbers.bandwidth(721.8)).isEqualTo("721.8");
        assertThat(Numbers.bandwidth(100)).isEqualTo("100");
        assertThat(Numbers.bandwidth(2966.4)).isEqualTo("2966");
        assertThat(Numbers.bandwidth(5000)).isEqualTo("inside");
    }

    @Test
    void runsOfNumbersAreShortenedAndNounsAreCounted() {
        assertThat(Numbers.ranges(List.of(0, 1, 2, 3, 5, 7, 8))).isEqualTo("0-3, 5, 7, 8");
        assertThat(Numbers.count(1, "PCI switch")).isEqualTo("1 PCI switch");
        assertThat(Numbers.count(4, "PCI switch")).isEqualTo("4 PCI switches");
    }
}
