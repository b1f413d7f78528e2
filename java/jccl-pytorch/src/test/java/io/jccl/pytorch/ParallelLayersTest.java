package io.jccl.pytorch;

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Checks the output of two processes that have run all {@link ParallelLayersScenarios} once. */
class ParallelLayersTest {

    private static String[] outputs;

    @BeforeAll
    @Timeout(value = 4, unit = TimeUnit.MINUTES)
    static void run(@TempDir Path folder) throws Exception {
        outputs = PyTorchRanks.in(folder).run(2, ParallelLayersScenarios.class).toArray(String[]::new);
    }

    @ParameterizedTest
    @ValueSource(strings = {"loss curve", "loss curve after collections", "gradients of the input", "width"})
    void scenarioPassesOnBothRanks(String name) {
        Scenarios.requirePassed(outputs, name);
    }
}
