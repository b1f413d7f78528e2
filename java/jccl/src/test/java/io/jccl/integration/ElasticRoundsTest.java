package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A few rounds of {@link ElasticRounds}; {@code scripts/check-elastic} runs a hundred. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ElasticRoundsTest {

    private static final int MAX_DESCRIPTORS = 200;

    @TempDir
    Path folder;

    /** Rank 0 is killed in the first round; in the fifth, the leading rank is killed after another rank. */
    @ParameterizedTest
    @CsvSource({"3, SHM, 5", "3, SOCKET, 2"})
    void killedRanksAreReplaced(int size, String transport, int count) throws Exception {
        try (ElasticRounds rounds = ElasticRounds.start(folder, size, transport, 1)) {
            for (int i = 1; i <= count; i++) {
                ElasticRounds.Times times = rounds.round();
                assertThat(times.victims()).hasSize(i % 5 == 0 ? 2 : 1);
                assertThat(times.generation()).isGreaterThanOrEqualTo(2 * i);
                assertThat(times.descriptors())
                        .as("descriptors of earlier generations are closed")
                        .isLessThan(MAX_DESCRIPTORS);
            }
            rounds.end();
        }
    }
}
