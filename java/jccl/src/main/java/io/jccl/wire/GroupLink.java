package io.jccl.wire;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.function.BooleanSupplier;

/**
 * One group's part of a connection that several groups share. A {@link FrameType#CONTEXT} frame with the group's number
 * precedes each of its frames, unless the number is {@link #FIRST}. The connection itself stays open while other groups
 * use it.
 */
public final class GroupLink implements Link {

    /** The number of the group for which the connection was made. */
    public static final long FIRST = 0;

    private static final int PREFIX_BYTES = FrameType.HEADER_BYTES + Long.BYTES;

    private final FrameLink shared;
    private final ByteBuffer prefix; // null for the first group
    private final BooleanSupplier hasOthers;
    private Queue<ByteBuffer> early; // frames for a rank that has not entered the group; null afterwards
    private volatile boolean closed;

    /**
     * Creates a group's part of a connection.
     *
     * @param number of the group
     * @param isEntered false to keep frames until {@link #enter}, because the other end does not know the group yet
     * @param hasOthers returns true while other groups use the connection
     */
    public GroupLink(FrameLink shared, long number, boolean isEntered, BooleanSupplier hasOthers) {
        this.shared = shared;
        this.hasOthers = hasOthers;
        this.early = isEntered ? null : new ArrayDeque<>();
        this.prefix = number == FIRST
                ? null
                : ByteBuffer.allocateDirect(PREFIX_BYTES)
                        .putInt(Long.BYTES)
                        .put((byte) FrameType.CONTEXT.ordinal())
                        .putLong(number)
                        .flip();
    }

    @Override
    public void send(FrameType type, WireWriter content) {
        send(FrameLink.encode(type, content.toBytes()));
    }

    @Override
    public void send(ByteBuffer frame) {
        if (closed) {
            return;
        }
        ByteBuffer whole = prefix == null
                ? frame
                : ByteBuffer.allocate(PREFIX_BYTES + frame.remaining())
                        .put(prefix.duplicate().rewind())
                        .put(frame.duplicate())
                        .flip();
        synchronized (this) {
            if (early != null) {
                early.add(whole);
                return;
            }
        }
        shared.send(whole);
    }

    /** Sends a short frame. Drops it if the other end does not know the group yet. */
    @Override
    public boolean sendShort(ByteBuffer frame) {
        synchronized (this) {
            if (closed || early != null) {
                return true;
            }
        }
        return prefix == null ? shared.sendShort(frame) : shared.sendShort(prefix.rewind(), frame);
    }

    /** Sends the frames that were kept, because the other end now knows the group. */
    public synchronized void enter() {
        if (early != null) {
            early.forEach(shared::send);
            early = null;
        }
    }

    @Override
    public void closeWhenSent() {
        closed = true;
        if (!hasOthers.getAsBoolean()) {
            shared.closeWhenSent();
        }
    }

    @Override
    public void close() {
        if (hasOthers.getAsBoolean()) {
            send(FrameLink.encode(FrameType.CLOSED, new byte[0]));
            closed = true;
        } else {
            closed = true;
            shared.close();
        }
    }
}
