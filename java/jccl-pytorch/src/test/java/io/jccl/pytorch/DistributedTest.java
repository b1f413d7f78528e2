package io.jccl.pytorch;

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Checks the output of two processes that have run all {@link DistributedScenarios} once. */
class DistributedTest {

    private static String[] outputs;

    @BeforeAll
    @Timeout(value = 4, unit = TimeUnit.MINUTES)
    static void run(@TempDir Path folder) throws Exception {
        outputs = PyTorchRanks.in(folder).run(2, DistributedScenarios.class).toArray(String[]::new);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "types",
                "moved types",
                "broadcast",
                "gather and scatter",
                "all to all",
                "point to point",
                "strides",
                "future",
                "empty tensor",
                "leaf",
                "unsuitable tensors"
            })
    void scenarioPassesOnBothRanks(String name) {
        Scenarios.requirePassed(outputs, name);
    }
}
