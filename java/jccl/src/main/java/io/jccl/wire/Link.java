package io.jccl.wire;

import java.nio.ByteBuffer;

/**
 * A connection over which one group of ranks sends frames: a {@link FrameLink} of its own, or a {@link GroupLink}. All
 * methods but {@link #sendShort} may be called by any thread, and none waits.
 */
public interface Link {

    void send(FrameType type, WireWriter content);

    /** Queues a frame made by {@link FrameLink#encode}. Does not change the buffer. */
    void send(ByteBuffer frame);

    /** Like {@link FrameLink#sendShort}. */
    boolean sendShort(ByteBuffer frame);

    /** Closes the link once the queued frames have been sent. */
    void closeWhenSent();

    /** Closes the link at once. */
    void close();
}
