package io.jccl.wire;

/** Invalid bytes from the wire. The code that catches the exception names the rank that sent them. */
public final class WireException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** Creates an exception whose message says what is wrong. */
    public WireException(String message) {
        super(message);
    }
}
