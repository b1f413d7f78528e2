package io.jccl.chaos;

import java.util.Locale;

/** A fault that strikes the victims of a round. */
enum Fault {
    /** The process is killed. */
    KILL(Effect.ENDS),
    /** The process is stopped for less than any time-out. */
    STOP_BRIEFLY(Effect.NONE),
    /** The process is stopped until the others have ended the round. */
    STOP(Effect.SILENT),
    /** The links of the host are down for less than any time-out. */
    PARTITION_BRIEFLY(Effect.NONE),
    /** The links of the host are down until the others have ended the round. */
    PARTITION(Effect.SILENT),
    /** The rank calls late, before any time-out. */
    SLOW(Effect.NONE),
    /** The rank calls later than the time-out of operations and initialisation. */
    ABSENT(Effect.SILENT),
    /** No file and no shared memory can grow, due to a limit of the process and full file systems. */
    NO_SPACE(Effect.MAY_FAIL),
    /** The process can open at most a few more descriptors. */
    NO_DESCRIPTORS(Effect.MAY_FAIL);

    /** The effect that the other ranks may notice. */
    enum Effect {
        /** No effect: results are right. */
        NONE,
        /** The victim has ended, and every rank can see that. */
        ENDS,
        /** The victim lives and does not answer, so only a majority may continue. */
        SILENT,
        /** The victim may or may not get an exception. */
        MAY_FAIL
    }

    private final Effect effect;

    Fault(Effect effect) {
        this.effect = effect;
    }

    Effect effect() {
        return effect;
    }

    boolean isPartition() {
        return this == PARTITION || this == PARTITION_BRIEFLY;
    }

    boolean isStop() {
        return this == STOP || this == STOP_BRIEFLY;
    }

    String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
