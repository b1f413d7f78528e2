package io.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Runs {@link StepBenchmark}: briefly, or as long as {@code -Djccl.pytorch.width} and {@code -Djccl.pytorch.rounds} say. */
class StepBenchmarkTest {

    @Test
    @Timeout(value = 9, unit = TimeUnit.MINUTES)
    void everyModeIsMeasured(@TempDir Path folder) throws Exception {
        String width = System.getProperty("jccl.pytorch.width", "16");
        String rounds = System.getProperty("jccl.pytorch.rounds", "1");
        String output = PyTorchRanks.in(folder)
                .jvm("-Xmx2g") // JavaCPP limits the memory of tensors by that of the heap
                .run(2, StepBenchmark.class, width, rounds)
                .get(0);
        String[] medians = output.lines()
                .filter(line -> line.matches(".* MB \\w+ step \\d+\\.\\d\\d wait \\d+\\.\\d\\d"))
                .toArray(String[]::new);
        assertThat(medians).as(output).hasSize(6);
        System.out.println(String.join("\n", medians));
    }
}
