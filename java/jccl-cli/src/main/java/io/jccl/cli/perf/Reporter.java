package io.jccl.cli.perf;

/** Receives a run's progress and results on rank 0. */
interface Reporter extends AutoCloseable {

    /** Says nothing. */
    Reporter SILENT = new Reporter() {};

    /** The ranks are connected and begin. */
    default void begin(PerfOptions options, RunInfo run, int sizes) {}

    /** A size is begun. */
    default void measuring(long bytes) {}

    /** A size is done. */
    default void row(PerfRow row) {}

    /** Something is wrong beside single elements; the text describes it. */
    default void complain(String text) {}

    /** All sizes are done. */
    default void end(long wrong) {}

    /** Whether something was slower than an earlier run allows. */
    default boolean hasRegressed() {
        return false;
    }

    @Override
    default void close() {}
}
