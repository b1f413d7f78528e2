package io.jccl.status;

import io.jccl.wire.Limits;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;

/**
 * A rank that gave no answer, and the reason.
 *
 * @param communicator the short name of the communicator
 * @param rank the rank
 * @param process the address of the rank's process
 * @param reason why the rank gave no answer
 * @param text details, for people
 */
public record Absentee(String communicator, int rank, PeerAddress process, Reason reason, String text) {

    /** The reason why a rank gave no answer. The order of the constants is part of the wire format. */
    public enum Reason {
        /** Its process has ended. */
        ENDED,
        /** Its process is stopped, by a signal or a debugger. */
        STOPPED,
        /** Its process accepts a connection but does not answer: it is stopped, or its JVM hangs. */
        SILENT,
        /** No connection to its host can be made. */
        UNREACHABLE,
        /** Its process refuses the question: another version of JCCL, or another secret. */
        REFUSED,
        /** Its process has no status server: JCCL_STATUS=0. */
        OFF,
        /** Its process answers, but has closed this communicator. */
        CLOSED;

        /**
         * Returns the reason as the predicate of a sentence.
         *
         * @param many true if the subject is in the plural
         */
        public String predicate(boolean many) {
            return switch (this) {
                case ENDED -> (many ? "have" : "has") + " ended";
                case STOPPED -> (many ? "are" : "is")
                        + " stopped (a signal or a debugger; SIGCONT continues a process)";
                case SILENT -> (many ? "accept" : "accepts") + " connections and " + (many ? "do" : "does")
                        + " not answer: stopped, or a JVM that hangs";
                case UNREACHABLE -> "cannot be reached: the host is down, or a network or a firewall drops the"
                        + " connection";
                case REFUSED -> (many ? "refuse" : "refuses")
                        + " the question: another version of JCCL, or another job";
                case CLOSED -> (many ? "have" : "has") + " closed the communicator";
                case OFF -> (many ? "do" : "does") + " not answer jccl ps (JCCL_STATUS=0)";
            };
        }
    }

    private static final int MAX_TEXT = 1000;

    void write(WireWriter out) {
        out.text(communicator, MAX_TEXT).i32(rank).text(process.process(), MAX_TEXT);
        out.text(process.hostId(), MAX_TEXT).text(process.address(), MAX_TEXT);
        out.u8(reason.ordinal()).text(text, MAX_TEXT);
    }

    static Absentee read(WireReader in) {
        return new Absentee(
                in.text(MAX_TEXT),
                in.i32In("rank", 0, Limits.MAX_RANKS - 1),
                new PeerAddress(in.text(MAX_TEXT), in.text(MAX_TEXT), in.text(MAX_TEXT)),
                in.constant(Reason.class),
                in.text(MAX_TEXT));
    }
}
