package io.jccl.status;

import io.jccl.bootstrap.WireException;
import io.jccl.bootstrap.WireReader;
import io.jccl.bootstrap.WireWriter;
import java.util.ArrayList;
import java.util.List;

/**
 * What is known of a job, or of one process of it.
 *
 * @param processes those that have answered
 * @param absentees the ranks of which nothing is known but why
 */
public record Answer(List<ProcessSnapshot> processes, List<Absentee> absentees) {

    /** The longest answer. */
    static final int MAX_BYTES = 256 << 20;

    private static final int OK = 0;
    private static final int REFUSED = 1;
    private static final int MAX_TEXT = 2000;
    private static final int MAX_ENTRIES = 1 << 20;

    /** Copies the lists. */
    public Answer {
        processes = List.copyOf(processes);
        absentees = List.copyOf(absentees);
    }

    byte[] encode() {
        WireWriter out = new WireWriter().u8(OK).i32(processes.size());
        processes.forEach(process -> process.write(out));
        out.i32(absentees.size());
        absentees.forEach(absentee -> absentee.write(out));
        return out.toBytes();
    }

    /** Instead of an answer. These bytes mean the same in every version. */
    static byte[] refusal(String text) {
        return new WireWriter().u8(REFUSED).text(text, MAX_TEXT).toBytes();
    }

    /**
     * Reads an answer.
     *
     * @throws WireException if it makes no sense
     * @throws RefusedException if it is a refusal
     */
    static Answer decode(byte[] bytes) {
        WireReader in = new WireReader(bytes);
        switch (in.u8()) {
            case OK -> {
                return read(in);
            }
            case REFUSED -> throw new RefusedException(in.text(MAX_TEXT));
            default -> throw new WireException("the answer is of another version of JCCL");
        }
    }

    private static Answer read(WireReader in) {
        List<ProcessSnapshot> processes = new ArrayList<>();
        for (int left = in.i32In("processes", 0, MAX_ENTRIES); left > 0; left--) {
            processes.add(ProcessSnapshot.read(in));
        }
        List<Absentee> absentees = new ArrayList<>();
        for (int left = in.i32In("absentees", 0, MAX_ENTRIES); left > 0; left--) {
            absentees.add(Absentee.read(in));
        }
        in.end();
        return new Answer(processes, absentees);
    }

    /** The other side does not answer the question, and says why. */
    static final class RefusedException extends RuntimeException {

        private static final long serialVersionUID = 1;

        RefusedException(String message) {
            super(message);
        }
    }
}
