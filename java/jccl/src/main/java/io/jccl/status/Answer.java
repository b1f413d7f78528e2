package io.jccl.status;

import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.util.ArrayList;
import java.util.List;

/**
 * The state of a job, or of one process of it.
 *
 * @param processes the processes that have answered
 * @param absentees the ranks that gave no answer, with the reasons
 */
public record Answer(List<ProcessSnapshot> processes, List<Absentee> absentees) {

    /** The largest number of bytes of an answer. */
    static final int MAX_BYTES = 256 << 20;

    private static final int OK = 0;
    private static final int REFUSED = 1;
    private static final int MAX_TEXT = 2000;
    private static final int MAX_ENTRIES = 1 << 20;

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

    /** Encodes a refusal, which is sent instead of an answer. Its bytes have the same meaning in every version. */
    static byte[] refusal(String text) {
        return new WireWriter().u8(REFUSED).text(text, MAX_TEXT).toBytes();
    }

    /**
     * Reads an answer.
     *
     * @throws WireException if the bytes are not an answer
     * @throws RefusedException if the bytes are a refusal
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

    /** The other side refuses to answer the question, and gives the reason. */
    static final class RefusedException extends RuntimeException {

        private static final long serialVersionUID = 1;

        RefusedException(String message) {
            super(message);
        }
    }
}
