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
     * {@code >} version text, rank, size, old rank, last entered operations, key, blob: the first frame. The old rank,
     * the last entered operations and the key are used if a communicator is reformed. The first two refer to the
     * previous group; the key names the ranks that this rank excludes. At the rendezvous server, rank 0's blob contains
     * the addresses of its coordinator; at the coordinator, a rank's blob contains the addresses of its {@link Relay}.
     */
    HELLO,
    /** {@code <} text: this rank is refused. */
    REFUSED,
    /** {@code >} text: this rank's initialisation time-out has passed; the text is the time-out. */
    GIVE_UP,
    /** {@code <} cause, ranks to blame, text: initialisation failed. */
    FAILED,
    /**
     * {@code <} blob: all ranks have registered. At the coordinator, the blob contains the addresses of the relay
     * above.
     */
    WELCOME,
    /** {@code >} number of a gather, blob: this rank's part of the gather. */
    GATHER,
    /**
     * {@code <} number of a gather, flag, {@link GatherTable}: the answer of the gather. The flag asks the rank to pass
     * the frame on to the ranks below.
     */
    GATHERED,
    /**
     * {@code >} number of a gather, flag: asks for the answer of the gather. The flag says that the rank's time-out has
     * passed, so that the server must name the missing ranks if there is no answer.
     */
    GATHER_LATE,
    /** {@code <} number of a gather, ranks: the ranks that have not sent their part of the gather. */
    GATHER_MISSING,
    /** {@code >} receiver, tag, blob; {@code <} sender, tag, blob. */
    MESSAGE,
    /**
     * {@code >} position: the operations that this rank has entered last, and their fingerprints. {@code <} number of
     * the last gather if ranks pass on its answer, else 0.
     */
    HEARTBEAT,
    /**
     * {@code >} position: this rank leaves in good order. At the rendezvous server the body is empty, and the frame
     * says that this rank does not need that server any more.
     */
    FIN,
    /** {@code <} empty: the server has received the FIN and closes the connection. */
    FIN_ACK,
    /** {@code <} last entered operations of rank 0: the coordinator leaves in good order. */
    LEFT,
    /**
     * {@code >} kind, sequence, milliseconds waited or 0, text: reports a problem. At the rendezvous server the body is
     * only a text, the reason why this rank leaves.
     */
    REPORT,
    /**
     * {@code <} inquiry, sequence, flag: asks for a status. The flag asks the rank to look for stalled connections,
     * too.
     */
    QUERY,
    /** {@code >} inquiry, status. */
    STATUS,
    /** {@code <} the agreed failure. */
    FAILURE,
    /** {@code <} empty: requests a heartbeat now. */
    ASK,
    /** {@code >} number of the last gather whose answer has come: the relay above sends this rank no more answers. */
    UNRELAYED,
    /**
     * {@code <} generation, rank, size, secret of the rendezvous, earlier groups: a process that joins gets the rank.
     * In the {@code HELLO} of such a process, the rank is its preferred place among the processes that join, and the
     * size is 0. {@link #WELCOME} follows.
     */
    ADMITTED,
    /** {@code <} addresses of the leader: a process that joins must ask the leader instead of this rank. */
    LEADER,
    /** {@code <} text: the reason why no process can join at the moment. */
    LATER,
    /** {@code <} {@code >} number of a group: the next frame belongs to this group, see {@link GroupLink}. */
    CONTEXT,
    /**
     * {@code >} ranks of a group in its order, by their numbers in the group that has the connection: the sender enters
     * the group.
     */
    ENTER,
    /** {@code <} {@code >} empty: this end closes the group's part of the connection without a FIN. */
    CLOSED;

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
            case HEARTBEAT, ASK, QUERY, FAILURE, FIN_ACK, LEFT, CONTEXT -> true;
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
