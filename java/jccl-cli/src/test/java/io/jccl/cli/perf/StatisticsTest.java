package io.jccl.cli.perf;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class StatisticsTest {

    @Test
    void intervalsAreDifferencesInOrderOfSize() {
        assertThat(Statistics.sortedIntervals(new long[] {100, 130, 140, 190})).containsExactly(10, 30, 50);
    }

    @Test
    void quantilesInterpolateBetweenNeighbours() {
        long[] sorted = {10, 20, 30, 40};
        assertThat(Statistics.quantile(sorted, 0)).isEqualTo(10);
        assertThat(Statistics.quantile(sorted, 0.5)).isEqualTo(25);
        assertThat(Statistics.quantile(sorted, 1)).isEqualTo(40);
        assertThat(Statistics.quantile(new long[] {7}, 0.99)).isEqualTo(7);
    }

    @Test
    void the99thPercentileIsNearTheEnd() {
        long[] sorted = new long[101];
        for (int i = 0; i < sorted.length; i++) {
            sorted[i] = i;
        }
        assertThat(Statistics.quantile(sorted, 0.99)).isEqualTo(99);
    }
}
