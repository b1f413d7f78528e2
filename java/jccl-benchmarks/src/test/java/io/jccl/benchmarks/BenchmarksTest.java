package io.jccl.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Collection;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;

/** Runs each benchmark that needs one rank, for a few milliseconds. */
@Timeout(120)
class BenchmarksTest {

    @Test
    void benchmarksOfOneRankRunWithoutError() throws RunnerException {
        Collection<RunResult> results = new Runner(new OptionsBuilder()
                        .include(CallOverheadBenchmark.class.getSimpleName())
                        .include(NativeCallBenchmark.class.getSimpleName())
                        .forks(0)
                        .warmupIterations(0)
                        .measurementIterations(1)
                        .measurementTime(TimeValue.milliseconds(5))
                        .shouldFailOnError(true)
                        .build())
                .run();
        assertThat(results).hasSize(8);
    }
}
