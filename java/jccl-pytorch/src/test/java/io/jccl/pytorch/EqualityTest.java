package io.jccl.pytorch;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Checks the output of two and of four processes that have run all {@link EqualityScenarios} once. */
class EqualityTest {

    private static final Map<Integer, String[]> OUTPUTS = new LinkedHashMap<>();

    @BeforeAll
    @Timeout(value = 5, unit = TimeUnit.MINUTES)
    static void run(@TempDir Path folder) throws Exception {
        for (int ranks : new int[] {2, 4}) {
            OUTPUTS.put(
                    ranks,
                    PyTorchRanks.in(folder).run(ranks, EqualityScenarios.class).toArray(String[]::new));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "2, MLP SGD Double",
        "2, MLP Adam Double",
        "2, MLP ZeRO Double",
        "2, MLP SGD Float",
        "2, MLP Adam Float",
        "2, MLP ZeRO Float",
        "2, CNN SGD Double",
        "2, CNN Adam Double",
        "2, CNN ZeRO Double",
        "2, CNN SGD Float",
        "2, CNN Adam Float",
        "2, CNN ZeRO Float",
        "2, TRANSFORMER SGD Double",
        "2, TRANSFORMER Adam Double",
        "2, TRANSFORMER ZeRO Double",
        "2, TRANSFORMER SGD Float",
        "2, TRANSFORMER Adam Float",
        "2, TRANSFORMER ZeRO Float",
        "2, control",
        "2, shares",
        "4, MLP SGD Double",
        "4, MLP Adam Double",
        "4, MLP ZeRO Double",
        "4, MLP SGD Float",
        "4, MLP Adam Float",
        "4, MLP ZeRO Float",
        "4, CNN SGD Double",
        "4, CNN Adam Double",
        "4, CNN ZeRO Double",
        "4, CNN SGD Float",
        "4, CNN Adam Float",
        "4, CNN ZeRO Float",
        "4, TRANSFORMER SGD Double",
        "4, TRANSFORMER Adam Double",
        "4, TRANSFORMER ZeRO Double",
        "4, TRANSFORMER SGD Float",
        "4, TRANSFORMER Adam Float",
        "4, TRANSFORMER ZeRO Float",
        "4, control",
        "4, shares"
    })
    void trainingOnAllRanksEqualsThatOfOneProcess(int ranks, String name) {
        Scenarios.requirePassed(OUTPUTS.get(ranks), name);
    }
}
