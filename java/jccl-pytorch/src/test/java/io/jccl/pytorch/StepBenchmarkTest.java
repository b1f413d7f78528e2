package io.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class StepBenchmarkTest {

    @Test
    @Timeout(value = 3, unit = TimeUnit.MINUTES)
    void everyModeIsMeasured(@TempDir Path folder) throws Exception {
        String output =
                PyTorchRanks.in(folder).run(2, StepBenchmark.class, "16", "1").get(0);
        for (String mode : new String[] {"NONE", "AFTER_BACKWARD", "DISTRIBUTED_DATA_PARALLEL", "GLOO", "REDUCER"}) {
            assertThat(output).containsPattern("MB " + mode + " step \\d+\\.\\d\\d wait \\d+\\.\\d\\d");
        }
    }
}
