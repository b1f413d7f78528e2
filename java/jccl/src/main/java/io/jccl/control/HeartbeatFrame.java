package io.jccl.control;

import io.jccl.wire.FrameType;
import java.nio.ByteBuffer;

/** A rank's heartbeat, which contains the rank's position. For use by one thread. */
final class HeartbeatFrame {

    private final Control control;
    private final ByteBuffer frame = ByteBuffer.allocateDirect(FrameType.HEADER_BYTES + Position.BYTES);
    private Position sent = Position.START; // the position in the last heartbeat
    // true if two heartbeats in a row had the position in `sent`: in the first one, fingerprints may be incomplete
    private boolean isSettled;

    /** Allocates the heartbeat of the rank whose position {@code control} knows. */
    HeartbeatFrame(Control control) {
        this.control = control;
        frame.putInt(Position.BYTES).put((byte) FrameType.HEARTBEAT.ordinal());
        sent.write(frame);
    }

    /**
     * Returns the next heartbeat, which is valid until the next call. Allocates nothing if the rank has not moved: a
     * full heap must not make the rank silent.
     */
    ByteBuffer next() {
        try {
            if (!isSettled || !control.isAt(sent)) {
                Position now = control.position();
                isSettled = now.equals(sent);
                sent = now;
            }
            sent.write(frame.clear().position(FrameType.HEADER_BYTES));
        } catch (OutOfMemoryError e) {
            // The frame still contains the position of the previous heartbeat. It nevertheless proves that this rank
            // lives.
        }
        return frame.clear();
    }
}
