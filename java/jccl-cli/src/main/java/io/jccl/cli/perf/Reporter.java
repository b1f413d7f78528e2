package io.jccl.cli.perf;

import io.jccl.Communicator;

/** Receives a run's progress and results. Only rank 0 prints them. */
interface Reporter {

    /** Says nothing. */
    Reporter SILENT = new Reporter() {};

    /** The ranks are connected and begin. */
    default void begin(PerfOptions options, Communicator communicator, String transport, int sizes) {}

    /** A size is begun. */
    default void measuring(long bytes) {}

    /** A size is done. */
    default void row(PerfRow row) {}

    /** Something is wrong beside single elements; the text describes it. */
    default void complain(String text) {}

    /** All sizes are done. */
    default void end(long wrong) {}

    /** Whether something was slower than the baseline allows. */
    default boolean hasRegressed() {
        return false;
    }
}
