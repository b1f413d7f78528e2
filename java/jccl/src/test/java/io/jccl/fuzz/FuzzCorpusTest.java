package io.jccl.fuzz;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.util.Map;
import java.util.SortedMap;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Runs every fuzz target on its corpus: each input is read or refused. {@code scripts/check-fuzz} searches for new
 * inputs.
 */
@Timeout(60)
class FuzzCorpusTest {

    private static final int MIN_INPUTS = 10;

    @ParameterizedTest
    @MethodSource("io.jccl.fuzz.FuzzTarget#present")
    void everyInputOfTheCorpusIsReadOrRefused(FuzzTarget target) throws Exception {
        SortedMap<String, byte[]> inputs = target.inputs();
        assertThat(inputs).hasSizeGreaterThan(MIN_INPUTS);
        for (Map.Entry<String, byte[]> input : inputs.entrySet()) {
            assertThatCode(() -> target.run(input.getValue()))
                    .as("%s of %s", input.getKey(), target)
                    .doesNotThrowAnyException();
        }
    }
}
