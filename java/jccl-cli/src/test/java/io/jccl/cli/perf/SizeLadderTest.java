package io.jccl.cli.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

class SizeLadderTest {

    @Test
    void growsByAFactorUpToTheLargest() {
        assertThat(new SizeLadder(8, 64L << 20, 2, 0).sizes())
                .hasSize(24)
                .startsWith(8L, 16L)
                .endsWith(64L << 20);
        assertThat(new SizeLadder(8, 100, 4, 0).sizes()).containsExactly(8L, 32L);
    }

    @Test
    void growsByAStep() {
        assertThat(new SizeLadder(100, 310, 0, 100).sizes()).containsExactly(100L, 200L, 300L);
    }

    @Test
    void endsBeforeSizesOverflow() {
        assertThat(new SizeLadder(1L << 60, Long.MAX_VALUE, 4, 0).sizes()).containsExactly(1L << 60, 1L << 62);
    }

    @Test
    void refusesBoundsAndGrowthThatMakeNoLadder() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new SizeLadder(16, 8, 2, 0))
                .withMessage("min=16 max=8: expected 1 <= min <= max; set them with -b and -e");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new SizeLadder(8, 16, 1, 0))
                .withMessage("factor=1: expected at least 2; or use -i for a fixed step");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new SizeLadder(8, 1L << 40, 0, 1))
                .withMessage("step=1 B: gives more than 100000 sizes; raise -i or lower -e");
    }
}
