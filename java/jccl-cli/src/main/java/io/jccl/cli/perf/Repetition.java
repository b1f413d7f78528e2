package io.jccl.cli.perf;

/** Runs one operation again and again, in batches; all ranks run the same numbers of batches. */
interface Repetition extends AutoCloseable {

    /** Returns the number of operations of a batch. */
    int batch();

    /** Runs batches and waits for their end. */
    void run(int batches);

    @Override
    default void close() {}

    /** Returns a repetition that awaits each call; a batch is one call. */
    static Repetition awaiting(Workload.Call call) {
        return new Repetition() {
            @Override
            public int batch() {
                return 1;
            }

            @Override
            public void run(int batches) {
                for (int i = 0; i < batches; i++) {
                    call.issue().await();
                }
            }
        };
    }
}
