package io.jccl.bootstrap;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * A frame that names an error of the JVM, made before there is one: {@link #of} and sending the frame allocate nothing, so that
 * other ranks learn of a full heap while it is full. For one thread.
 */
final class ErrorFrame {

    private static final List<Error> COMMON =
            List.of(new OutOfMemoryError(), new StackOverflowError(), new NoClassDefFoundError());
    private static final int LENGTH_BYTES = 4;
    private static final int MAX_ERROR_BYTES = 500;

    private final byte[] text;
    private final byte[] after;
    private final int textAt;
    private final ByteBuffer frame;

    /**
     * A frame whose text ends with the error.
     *
     * @param before the body up to the length of the text
     * @param text what the error follows, in ASCII
     * @param after the body behind the text
     */
    ErrorFrame(FrameType type, byte[] before, String text, byte[] after) {
        this.text = text.getBytes(StandardCharsets.US_ASCII);
        this.after = after.clone();
        this.textAt = FrameType.HEADER_BYTES + before.length;
        this.frame =
                ByteBuffer.allocateDirect(textAt + LENGTH_BYTES + this.text.length + MAX_ERROR_BYTES + after.length);
        frame.putInt(0).put((byte) type.ordinal()).put(before);
        for (Error error : COMMON) {
            of(error); // the JVM makes the name of a class when it is first asked for
        }
    }

    /** The frame for an error; valid until the next call. */
    ByteBuffer of(Throwable error) {
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
