package io.jccl.wire;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * A frame that names an error of the JVM. Its memory is allocated before there is an error: {@link #of} and sending the
 * frame allocate nothing, so other ranks learn of a full heap while it is full. For use by one thread.
 */
public final class ErrorFrame {

    private static final List<Error> COMMON =
            List.of(new OutOfMemoryError(), new StackOverflowError(), new NoClassDefFoundError());
    private static final int LENGTH_BYTES = 4;
    private static final int MAX_ERROR_BYTES = 500;

    private final byte[] text;
    private final byte[] after;
    private final int textAt;
    private final ByteBuffer frame;

    /**
     * Allocates a frame whose text ends with the error.
     *
     * @param before the part of the body before the length of the text
     * @param text the text before the error, in ASCII
     * @param after the part of the body after the text
     */
    public ErrorFrame(FrameType type, byte[] before, String text, byte[] after) {
        this.text = text.getBytes(StandardCharsets.US_ASCII);
        this.after = after.clone();
        this.textAt = FrameType.HEADER_BYTES + before.length;
        this.frame =
                ByteBuffer.allocateDirect(textAt + LENGTH_BYTES + this.text.length + MAX_ERROR_BYTES + after.length);
        frame.putInt(0).put((byte) type.ordinal()).put(before);
        for (Error error : COMMON) {
            of(error); // called now, because the JVM allocates the name of a class at the first call
        }
    }

    /** Returns the frame for an error. It is valid until the next call. */
    public ByteBuffer of(Throwable error) {
        int begin = textAt + LENGTH_BYTES;
        frame.clear().position(begin).put(text);
        int end = frame.position() + MAX_ERROR_BYTES;
        append(error.getClass().getName(), end);
        String message = error.getMessage();
        if (message != null) {
            append(": ", end);
            append(message, end);
        }
        frame.putInt(textAt, frame.position() - begin);
        frame.put(after).flip();
        return frame.putInt(0, frame.limit() - FrameType.HEADER_BYTES);
    }

    private void append(String part, int end) {
        for (int i = 0; i < part.length() && frame.position() < end; i++) {
            char c = part.charAt(i);
            frame.put((byte) (c < 128 ? c : '?'));
        }
    }
}
