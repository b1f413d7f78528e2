package io.jccl.bootstrap;

/**
 * The messages of an authenticated connection. On the wire a frame is its body's length (4 bytes, big endian), the
 * ordinal of its type (1 byte), then the body. The order of the constants is part of the wire format.
 *
 * <p>{@code >} goes from a rank to the server, {@code <} from the server to a rank.
 */
enum FrameType {
    /**
     * {@code >} version text, rank, size, old rank, key, blob: the first frame. Where a communicator is shrunk, the old
     * rank is that of the communicator and the key says whom this rank excludes. At the rendezvous server, rank 0's
     * blob holds its coordinator addresses; at the coordinator, those of the rank's {@link Relay}.
     */
    HELLO,
    /** {@code <} text: this rank is refused. */
    REFUSED,
    /** {@code >} text: this rank's initialisation time-out, which has passed. */
    GIVE_UP,
    /** {@code <} cause, ranks to blame, text: initialisation failed. */
    FAILED,
    /** {@code <} blob: all ranks are here. At the coordinator, the addresses of the relay above. */
    WELCOME,
    /** {@code >} number, blob: this rank's part of a gather. */
    GATHER,
    /** {@code <} number, whether the rank passes this on to those below, the {@link GatherTable}. */
    GATHERED,
    /** {@code >} number, whether the rank's time is over: asks for the answer, or the missing ranks. */
    GATHER_LATE,
    /** {@code <} number, ranks. */
    GATHER_MISSING,
    /** {@code >} receiver, tag, blob; {@code <} sender, tag, blob. */
    MESSAGE,
    /** {@code >} position; {@code <} number of the last gather whose answer ranks pass on. */
    HEARTBEAT,
    /** {@code >} position: this rank leaves in good order. Empty at the rendezvous server: no longer needed. */
    FIN,
    /** {@code <} empty: the server has received the FIN, and closes. */
    FIN_ACK,
    /** {@code <} last entered sequence of rank 0: the coordinator leaves in good order. */
    LEFT,
    /** {@code >} kind, sequence, milliseconds waited or 0, text. At the rendezvous server, text: why this rank leaves. */
    REPORT,
    /** {@code <} inquiry, sequence, whether stalled connections are asked for. */
    QUERY,
    /** {@code >} inquiry, status. */
    STATUS,
    /** {@code <} the agreed failure. */
    FAILURE,
    /** {@code <} empty: requests a heartbeat now. */
    ASK,
    /** {@code >} number of the last answer from the relay above, from which no more come. */
    UNRELAYED,
    /**
     * {@code <} generation, rank, size, secret of the rendezvous: a process that joins has a place. Its {@code HELLO}
     * has its preferred place as its rank, and 0 for the size; {@link #WELCOME} follows.
     */
    ADMITTED,
    /** {@code <} addresses: the rank that leads, where a process that joins shall ask. */
    LEADER,
    /** {@code <} text: why a process that joins has no place now. */
    LATER;

    /** Bytes before a body. */
    static final int HEADER_BYTES = 5;

    /** The longest body before a rank is admitted. */
    static final int MAX_HELLO_BYTES = 4096;

    /** The longest body. */
    static final int MAX_BODY_BYTES = 256 << 20;

    private static final FrameType[] ALL = values();

    /** Returns true if a frame may be handled again after an error of the JVM has interrupted its handler. */
    boolean isRepeatable() {
        return switch (this) {
            case HEARTBEAT, ASK, QUERY, FAILURE, FIN_ACK, LEFT -> true;
            default -> false;
        };
    }

    static FrameType of(int ordinal) {
        if (ordinal < 0 || ordinal >= ALL.length) {
            throw new WireException("frame type=" + ordinal + ": expected 0 to " + (ALL.length - 1));
        }
        return ALL[ordinal];
    }

    static int checkLength(int length, int max) {
        if (length < 0 || length > max) {
            throw new WireException("frame length=" + length + ": expected 0 to " + max);
        }
        return length;
    }
}
