package io.jccl.diagnosis;

import java.util.Collections;
import java.util.Locale;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * A reason why a communicator is held up.
 *
 * @param kind kind of the reason
 * @param ranks ranks that hold it up; empty if they are not known
 * @param text the finding as a sentence that begins with the ranks
 */
public record Finding(Kind kind, SortedSet<Integer> ranks, String text) {

    /** The kinds of findings, the worst first. */
    public enum Kind {
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
        /** A process refuses to answer. */
        REFUSED,
        /** A rank has closed its communicator while others wait for it. */
        CLOSED,
        /** Ranks called different operations. */
        MISMATCHED,
        /** A rank has not entered the operation, or has not come to initialisation. */
        ABSENT,
        /** A rank enters operations later than the others, again and again. */
        SLOW,
        /** A rank has entered the operation, waits for nobody and does not advance. */
        STALLED;

        /** Returns the word for messages. */
        public String label() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** Copies the set. */
    public Finding {
        ranks = Collections.unmodifiableSortedSet(new TreeSet<>(ranks));
    }
}
