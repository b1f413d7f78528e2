package io.jccl.chaos;

import java.util.Locale;

/** The part of a communicator's life in which a fault strikes. */
enum Phase {
    INIT,
    OPERATION,
    SPLIT,
    SHRINK,
    /** Ranks reform the communicator together with a process that joins. */
    REFORM,
    CLOSE;

    String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
