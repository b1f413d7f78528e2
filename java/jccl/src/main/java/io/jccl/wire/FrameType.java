package io.jccl.wire;

import io.jccl.control.GatherTable;
import io.jccl.control.Relay;

/**
 * The types of frames on an authenticated connection. On the wire a frame is the length of its body (4 bytes, big
 * endian), the ordinal of its type (1 byte), then the body. The order of the constants is part of the wire format.
 *
 * <p>{@code >} marks a frame from a rank to the server, {@code <} a frame from the server to a rank.
 */
public enum FrameType {
    /**
     * {@code >} version text, rank, size, old rank, last entered operations, key, blob: the first frame. If a
     * communicator is reformed, the old rank and the operations are those of the previous group, and the key says which
     * ranks this rank excludes. At the rendezvous server, rank 0's blob contains the addresses of its coordinator; at
     * the coordinator, a rank's blob contains the addresses of its {@link Relay}.
     */
    HELLO,
    /** {@code <} text: this rank is refused. */
    REFUSED,
    /** {@code >} text: this rank's initialisation time-out has passed; the text is the time-out. */
    GIVE_UP,
    /** {@code <} cause, ranks to blame, text: initialisation failed. */
    FAILED,
    /** {@code <} blob: all ranks are here. At the coordinator, the blob contains the addresses of the relay above. */
    WELCOME,
    /** {@code >} number, blob: this rank's part of a gather. */
    GATHER,
    /**
     * {@code <} number, flag, {@link GatherTable}: the answer of a gather. The flag asks the rank to pass the frame on
     * to the ranks below.
     */
    GATHERED,
    /**
     * {@code >} number, flag: asks for the answer of a gather. The flag says that the rank's time is over, so that it
     * needs the missing ranks if there is no answer.
     */
    GATHER_LATE,
    /** {@code <} number, ranks: the ranks that have not sent their part of a gather. */
    GATHER_MISSING,
    /** {@code >} receiver, tag, blob; {@code <} sender, tag, blob. */
    MESSAGE,
    /** {@code >} position; {@code <} number of the last gather if ranks pass on its answer, else 0. */
    HEARTBEAT,
    /**
     * {@code >} position: this rank leaves in good order. Empty at the rendezvous server: this rank does not need it
     * any more.
     */
    FIN,
    /** {@code <} empty: the server has received the FIN and closes the connection. */
    FIN_ACK,
    /** {@code <} last entered operations of rank 0: the coordinator leaves in good order. */
    LEFT,
    /**
     * {@code >} kind, sequence, milliseconds waited or 0, text: a problem. At the rendezvous server only text: why this
     * rank leaves.
     */
    REPORT,
    /** {@code <} inquiry, sequence, flag: asks for a status. The flag asks for stalled connections too. */
    QUERY,
    /** {@code >} inquiry, status. */
    STATUS,
    /** {@code <} the agreed failure. */
    FAILURE,
    /** {@code <} empty: requests a heartbeat now. */
    ASK,
    /**
     * {@code >} number: the relay above sends this rank no more answers. The number is that of the last answer that
     * came.
     */
    UNRELAYED,
    /**
     * {@code <} generation, rank, size, secret of the rendezvous, earlier groups: a process that joins has a place. Its
     * {@code HELLO} contains its preferred place as its rank, and 0 as the size. {@link #WELCOME} follows.
     */
    ADMITTED,
    /** {@code <} addresses of the rank that leads, which a process that joins must ask. */
    LEADER,
    /** {@code <} text: why there is no place for a process that joins at the moment. */
    LATER;

    /** The number of bytes before a body. */
    public static final int HEADER_BYTES = 5;

    /** The longest body in bytes before a rank is admitted. */
    public static final int MAX_HELLO_BYTES = 4096;

    /** The longest body in bytes. */
    public static final int MAX_BODY_BYTES = 256 << 20;

    private static final FrameType[] ALL = values();

    /** Returns true if a frame may be handled again after an error of the JVM has interrupted its handler. */
    boolean isRepeatable() {
        return switch (this) {
            case HEARTBEAT, ASK, QUERY, FAILURE, FIN_ACK, LEFT -> true;
            default -> false;
        };
    }

    public static FrameType of(int ordinal) {
        if (ordinal < 0 || ordinal >= ALL.length) {
            throw new WireException("frame type=" + ordinal + ": expected 0 to " + (ALL.length - 1));
        }
        return ALL[ordinal];
    }

    public static int checkLength(int length, int max) {
        if (length < 0 || length > max) {
            throw new WireException("frame length=" + length + ": expected 0 to " + max);
        }
        return length;
    }
}
