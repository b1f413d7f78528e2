package io.jccl.pytorch;

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
        outputs = PyTorchRanks.in(folder).run(2, TrainingScenarios.class).toArray(String[]::new);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "averages",
                "buckets",
                "overlap",
                "types",
                "strides",
                "sparse gradients",
                "shared parameter",
                "frozen parameter",
                "unused parameters",
                "unused parameters keep gradients",
                "unannounced unused parameter",
                "accumulation",
                "second backward pass",
                "backward pass in a hook",
                "misplaced calls",
                "clipping",
                "broadcast buffers",
                "own buffers",
                "equal parameters",
                "different modules",
                "different options",
                "unsuitable modules",
                "converted module",
                "failing hook",
                "half precision",
                "wire format",
                "unsuitable compression",
                "closed"
            })
    void scenarioPassesOnBothRanks(String name) {
        Scenarios.requirePassed(outputs, name);
    }
}
