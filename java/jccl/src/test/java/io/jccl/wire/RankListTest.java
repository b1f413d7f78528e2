package io.jccl.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RankListTest {

    @Test
    void runsAreShortened() {
        assertThat(RankList.text(List.of())).isEqualTo("{}");
        assertThat(RankList.text(List.of(7, 3))).isEqualTo("{3,7}");
        assertThat(RankList.text(List.of(2, 3))).isEqualTo("{2,3}");
        assertThat(RankList.text(List.of(2, 3, 4, 9, 11, 12, 13))).isEqualTo("{2-4,9,11-13}");
        assertThat(RankList.text(IntStream.range(1, 65_536).boxed().toList())).isEqualTo("{1-65535}");
    }

    @Test
    void partsBeyondTheLimitAreCounted() {
        String text =
                RankList.text(IntStream.range(0, 1000).map(i -> 2 * i).boxed().toList());
        assertThat(text).startsWith("{0,2,4,").endsWith(",60,62} and 968 more");
        assertThat(text.length()).isLessThan(200);
    }
}
