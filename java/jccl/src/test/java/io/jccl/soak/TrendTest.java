package io.jccl.soak;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class TrendTest {

    private static final int COUNT = 200;
    private static final Trend DESCRIPTORS = Trend.ALL.get(3);

    private static Trend.Finding of(IntToDoubleFunction descriptors) {
        List<Sample> samples = IntStream.range(0, COUNT)
                .mapToObj(i -> new Sample("p", i, 0, 0, 0, (int) descriptors.applyAsDouble(i), 0))
                .toList();
        return DESCRIPTORS.of(samples);
    }

    @Test
    void noiseAndAWarmUpAreFlat() {
        assertThat(of(i -> 30 + i % 3).isFlat()).isTrue();
        assertThat(of(i -> Math.min(i, 40)).isFlat()).isTrue();
        assertThat(of(i -> 30 - i / 20).isFlat()).isTrue();
    }

    @Test
    void aLeakGrowsHoweverSlowly() {
        assertThat(of(i -> 30 + i / 40).isFlat()).isFalse();
        assertThat(of(i -> 30 + i / 40 + i % 3).isFlat()).isFalse();
    }

    @Test
    void aStepGrows() {
        assertThat(of(i -> i < 150 ? 30 : 32).isFlat()).isFalse();
    }

    @Test
    void aSinglePeakIsNoTrend() {
        assertThat(of(i -> i == 150 ? 90 : 30).isFlat()).isTrue();
    }
}
