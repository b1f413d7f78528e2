package io.jccl.cli.perf;

/** Receives a run's progress and results on rank 0. */
interface Reporter extends AutoCloseable {

    /** Reports nothing. */
    Reporter SILENT = new Reporter() {};

    /** Called when the ranks are connected and begin. */
    default void begin(PerfOptions options, RunInfo run, int sizes) {}

    /** Called when the measurement of a size begins. */
    default void measuring(long bytes) {}

    /** Called when a size is done. */
    default void row(PerfRow row) {}

    /** Called with a description of an error other than wrong elements. */
    default void complain(String text) {}

    /** Called when all sizes are done. */
    default void end(long wrong) {}

    /** Returns true if a median was slower than an earlier run allows. */
    default boolean hasRegressed() {
        return false;
    }

    @Override
    default void close() {}
}
