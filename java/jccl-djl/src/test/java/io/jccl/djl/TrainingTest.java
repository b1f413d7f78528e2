package io.jccl.djl;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.testing.RankProcesses;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Checks the output of two processes that have run all {@link TrainingScenarios} once. */
class TrainingTest {

    private static String[] outputs;

    @BeforeAll
    @Timeout(value = 4, unit = TimeUnit.MINUTES)
    static void run(@TempDir Path folder) throws Exception {
        try (RankProcesses ranks = DjlRanks.in(folder).start(2, TrainingScenarios.class)) {
            int status = ranks.awaitExit(0) + ranks.awaitExit(1);
            assertThat(status).as(ranks.allOutput()).isZero();
            outputs = new String[] {ranks.output(0), ranks.output(1)};
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "sgd",
                "adam",
                "small buckets",
                "gradients in shared memory",
                "evaluators",
                "averaged statistics",
                "own statistics",
                "transposed parameter",
                "unused parameter",
                "frozen parameter",
                "several types",
                "accumulation",
                "formats",
                "memory",
                "error feedback",
                "first gradients",
                "different blocks",
                "different freezing",
                "unequal batches",
                "not initialized",
                "no broadcast",
                "other devices",
                "unsuitable tensors"
            })
    void scenarioPassesOnBothRanks(String name) {
        for (String output : outputs) {
            assertThat(output).contains("PASSED " + name + " (");
        }
    }
}
