package io.jccl.cli.ps;

import java.util.Collections;
import java.util.Locale;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * What holds a communicator up.
 *
 * @param kind what
 * @param ranks who; empty where that is not known
 * @param text the whole as a sentence, the ranks first
 */
record Finding(Kind kind, SortedSet<Integer> ranks, String text) {

    /** What may be wrong, the worst first. */
    enum Kind {
        /** The communicator has failed. */
        FAILED,
        /** A process has ended. */
        ENDED,
        /** A process is stopped. */
        STOPPED,
        /** A process does not answer. */
        SILENT,
        /** A host cannot be reached. */
        UNREACHABLE,
        /** A process does not let itself be looked into. */
        REFUSED,
        /** A rank has closed its communicator while others wait for it. */
        CLOSED,
        /** Ranks called different operations. */
        MISMATCHED,
        /** A rank has not entered the operation, or has not come to initialisation. */
        ABSENT,
        /** A rank enters operations later than the others, again and again. */
        SLOW,
        /** A rank has entered the operation, and gets no further by itself. */
        STALLED;

        /** The word in messages. */
        String label() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    Finding {
        ranks = Collections.unmodifiableSortedSet(new TreeSet<>(ranks));
    }
}
