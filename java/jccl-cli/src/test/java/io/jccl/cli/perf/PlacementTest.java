package io.jccl.cli.perf;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PlacementTest {

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "1 | 1 | a | 1 rank as a process on 1 host (a)",
                "4 | 4 | a b | 4 ranks as processes on 2 hosts (a, b)",
                "4 | 1 | a | 4 ranks as threads of one process on 1 host (a)",
                "8 | 2 | a b | 8 ranks in 2 processes on 2 hosts (a, b)",
                "9 | 9 | a b c d e f g h i | 9 ranks as processes on 9 hosts (a, b, c, d, e, f, g, h, ...)"
            })
    void isDescribedByAPhrase(int ranks, int processes, String hosts, String text) {
        assertThat(new Placement(ranks, processes, List.of(hosts.split(" ")), List.of(0)).text())
                .isEqualTo(text);
    }

    @Test
    void knowsTheRanksThatAreOnTheHostOfRank0() {
        assertThat(Placement.of(new long[] {7, 9, 7, 9}, List.of("a", "b", "a", "b"), new long[] {1, 2, 1, 3}))
                .isEqualTo(new Placement(4, 3, List.of("a", "b"), List.of(0, 2)));
    }
}
