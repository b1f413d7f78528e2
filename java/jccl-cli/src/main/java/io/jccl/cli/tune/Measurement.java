package io.jccl.cli.tune;

import io.jccl.Collective;
import io.jccl.tuning.Choice;
import io.jccl.tuning.CommunicatorShape;

/**
 * A measured operation: a line of {@code jccl perf --json} with the algorithm and protocol forced.
 *
 * @param shape shape of the communicator in which it was measured
 * @param collective the operation
 * @param choice how it was executed
 * @param bytes its size
 * @param micros its median time in microseconds
 */
record Measurement(CommunicatorShape shape, Collective collective, Choice choice, long bytes, double micros) {

    /** Refuses negative sizes, and times that no clock shows. */
    Measurement {
        if (bytes < 0 || !(micros > 0) || Double.isInfinite(micros)) {
            throw new IllegalArgumentException(
                    "bytes=" + bytes + " micros=" + micros + ": expected bytes from 0 and a time above 0");
        }
    }
}
