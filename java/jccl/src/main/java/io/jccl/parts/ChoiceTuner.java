package io.jccl.parts;

import io.jccl.planning.Plan;
import io.jccl.tuning.ChoiceTable;

/** Changes the choices of a communicator while it is initialised. Rank 0 decides for all ranks. */
public interface ChoiceTuner extends AutoCloseable {

    /** Changes nothing. */
    ChoiceTuner NONE = new ChoiceTuner() {

        @Override
        public boolean isOpen() {
            return false;
        }

        @Override
        public void begin(Plan plan) {}

        @Override
        public ChoiceTable tune(String memory, ChoiceTable table) {
            return table;
        }

        @Override
        public void close() {}
    };

    /** Returns true if this rank decides for all ranks. */
    boolean isOpen();

    /** Begins with the communicator of a plan. */
    void begin(Plan plan);

    /**
     * Returns a table with the changes. All ranks call this together, if the tuner {@linkplain #isOpen is open} on rank
     * 0.
     *
     * @param memory the memory for whose operations the table is, for logs
     */
    ChoiceTable tune(String memory, ChoiceTable table);

    /** Ends the tuner; a second call does nothing. */
    @Override
    void close();
}
