package io.jccl.cli.tune;

import java.io.IOException;
import java.util.List;

/** Executes runs. */
@FunctionalInterface
interface MeasurementRunner {

    /** Executes a run to its end; returns its times. */
    List<Times> run(MeasurementRun run) throws IOException, InterruptedException;
}
